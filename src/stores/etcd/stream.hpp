#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "port/clock.hpp"
#include "stores/etcd/call.hpp"
#include "stores/net/backoff.hpp"

namespace holdfast::inline v0::etcd {

/// That a stream has ended without our doing.
struct Break {
    grpc::Status status;
    std::uint64_t route;  ///< see Members
};

template <class Request, class Response>
class Streaming;

/// One stream of messages to and from one member, until it breaks. It lives until the queue has
/// brought back all that is under way.
/// Threads: everything with the wire's lock held.
template <class Request, class Response>
class Stream : public std::enable_shared_from_this<Stream<Request, Response>> {
public:
    using Due = Arrival::Due;

    using Listener = Streaming<Request, Response>;

    /// Who listens must outlive the stream, or let go of it.
    Stream(Listener& listener, std::uint64_t route) : listener_(&listener), route_(route) {}

    grpc::ClientContext& context() { return context_; }
    std::uint64_t route() const noexcept { return route_; }

    void open(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
              grpc::CompletionQueue& queue) {
        call_ = grpc::TemplatedGenericStub<Request, Response>(channel).PrepareCall(&context_,
                                                                                   method, &queue);
        begin(started_);
        call_->StartCall(&started_);
    }

    void send(Request message) {
        unsent_.push_back(std::move(message));
        write();
    }

    /// Nothing is told, and nothing more is begun, from now on: the queue may be about to close.
    void give_up() {
        listener_ = nullptr;
        context_.TryCancel();
    }

private:
    enum class State : unsigned char { starting, open, ending };

    /// One kind of operation; at most one of each is under way.
    struct Operation final : Arrival {
        Operation(Stream& stream, void (Stream::*next)(bool, Due&)) : owner(stream), step(next) {}
        void arrived(bool ok, Due& due) override {
            const auto alive = std::exchange(keep, nullptr);
            (owner.*step)(ok, due);
        }
        Stream& owner;
        void (Stream::*step)(bool, Due&);
        std::shared_ptr<Stream> keep;  ///< while it is under way
    };

    void begin(Operation& operation) { operation.keep = this->shared_from_this(); }

    bool is_given_up() const { return listener_ == nullptr; }

    void started(bool ok, Due&) {
        if (!ok) return end();
        state_ = State::open;
        read();
        write();
    }

    void read() {
        if (is_given_up()) return;
        begin(read_);
        call_->Read(&message_, &read_);
    }
    void have_read(bool ok, Due& due) {
        if (!ok) return end();
        try {
            if (!is_given_up()) listener_->received(message_, due);
        } catch (...) {
            // What it said may be half taken, and nothing more is read here.
            if (!is_given_up()) listener_->broke({grpc::StatusCode::INTERNAL, "no memory"});
            throw;
        }
        read();
    }

    void write() {
        if (state_ != State::open || unsent_.empty() || written_.keep || is_given_up()) return;
        begin(written_);
        call_->Write(unsent_.front(), &written_);
    }
    void have_written(bool ok, Due&) {
        // What is wrong, reading will find out.
        if (!ok) return;
        unsent_.pop_front();
        write();
    }

    void end() {
        state_ = State::ending;
        if (is_given_up()) return;
        begin(ended_);
        call_->Finish(&status_, &ended_);
    }
    void have_ended(bool, Due&) {
        if (!is_given_up()) listener_->broke(status_);
    }

    Listener* listener_;
    const std::uint64_t route_;
    State state_ = State::starting;
    grpc::ClientContext context_;
    grpc::Status status_;
    Response message_;
    std::deque<Request> unsent_;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> call_;
    Operation started_{*this, &Stream::started};
    Operation read_{*this, &Stream::have_read};
    Operation written_{*this, &Stream::have_written};
    Operation ended_{*this, &Stream::have_ended};
};

/// What a client asks on a stream, and again on the next one when that has broken.
/// Threads: everything with the wire's lock held.
template <class Request, class Response>
class Streaming {
public:
    using OneStream = Stream<Request, Response>;
    using Due = Arrival::Due;

    virtual ~Streaming() = default;

    /// Whether a stream is needed, and there is none.
    bool wants_stream() const { return !stream_ && has_work(); }
    /// Everything is asked again on this one.
    void use(std::shared_ptr<OneStream> stream) {
        stream_ = std::move(stream);
        ask_all();
    }
    /// The stream is not to be trusted any more.
    void drop_stream() {
        if (stream_) stream_->give_up();
        stream_.reset();
        dropped();
    }
    /// Whom the present one is with: see Members.
    std::optional<std::uint64_t> route() const {
        return stream_ ? std::optional(stream_->route()) : std::nullopt;
    }

    /// No stream is opened before: something was refused on the last one.
    Moment next() const noexcept { return refusals_.next(); }
    void refused(Moment now) { refusals_.failed(now); }

    virtual void received(const Response& message, Due& due) = 0;
    void broke(const grpc::Status& status) {
        break_ = {status, stream_->route()};
        drop_stream();
    }
    /// Whether the stream has broken since this was last asked, and by what.
    std::optional<Break> take_break() { return std::exchange(break_, std::nullopt); }

protected:
    virtual bool has_work() const = 0;
    virtual void ask_all() = 0;
    /// Nothing more is answered of what was asked until now.
    virtual void dropped() = 0;

    void was_served() noexcept { refusals_.succeeded(); }

    std::shared_ptr<OneStream> stream_;

private:
    std::optional<Break> break_;
    net::Backoff refusals_;
};

}  // namespace holdfast::inline v0::etcd
