#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "stores/etcd/etcd.pb.h"
#include "stores/etcd/failures.hpp"
#include "stores/net/errand.hpp"

namespace holdfast::inline v0::etcd {

namespace messages = ::holdfast_etcd;

/// What a completion queue brings back: one of these for each operation that is under way on it.
class Arrival {
public:
    using Due = std::vector<Callback<void()>>;

    virtual ~Arrival() = default;
    /// `ok` as gRPC has it. With the wire's lock held; whom it concerns is told by `due`.
    virtual void arrived(bool ok, Due& due) = 0;
};

/// Where a request is served.
template <class Request>
struct Method;
template <>
struct Method<messages::RangeRequest> {
    using Response = messages::RangeResponse;
    static constexpr const char* path = "/etcdserverpb.KV/Range";
};
template <>
struct Method<messages::DeleteRangeRequest> {
    using Response = messages::DeleteRangeResponse;
    static constexpr const char* path = "/etcdserverpb.KV/DeleteRange";
};
template <>
struct Method<messages::TxnRequest> {
    using Response = messages::TxnResponse;
    static constexpr const char* path = "/etcdserverpb.KV/Txn";
};
template <>
struct Method<messages::LeaseGrantRequest> {
    using Response = messages::LeaseGrantResponse;
    static constexpr const char* path = "/etcdserverpb.Lease/LeaseGrant";
};
template <>
struct Method<messages::LeaseRevokeRequest> {
    using Response = messages::LeaseRevokeResponse;
    static constexpr const char* path = "/etcdserverpb.Lease/LeaseRevoke";
};
template <>
struct Method<messages::LeaseTimeToLiveRequest> {
    using Response = messages::LeaseTimeToLiveResponse;
    static constexpr const char* path = "/etcdserverpb.Lease/LeaseTimeToLive";
};
template <>
struct Method<messages::MemberListRequest> {
    using Response = messages::MemberListResponse;
    static constexpr const char* path = "/etcdserverpb.Cluster/MemberList";
};
template <>
struct Method<messages::StatusRequest> {
    using Response = messages::StatusResponse;
    static constexpr const char* path = "/etcdserverpb.Maintenance/Status";
};
template <>
struct Method<messages::AlarmRequest> {
    using Response = messages::AlarmResponse;
    static constexpr const char* path = "/etcdserverpb.Maintenance/Alarm";
};
template <>
struct Method<messages::AuthenticateRequest> {
    using Response = messages::AuthenticateResponse;
    static constexpr const char* path = "/etcdserverpb.Auth/Authenticate";
};

template <class Response>
struct Answer : net::Answer<Response> {
    /// Why there is none.
    CallRefusal refusal = CallRefusal::none;
};

/// A request under way, asked of one member after the other.
/// Threads: everything with the wire's lock held.
class UnaryCall : public Arrival,
                  public net::Errand,
                  public std::enable_shared_from_this<UnaryCall> {
public:
    /// Whoever decides what becomes of it.
    class Owner {
    public:
        virtual ~Owner() = default;
        virtual void attempted(const std::shared_ptr<UnaryCall>& call, Due& due) = 0;
    };

    UnaryCall(Owner& owner, Moment until, bool proves)
        : Errand(until), proves_user(proves), owner_(owner) {}

    virtual void send(const std::shared_ptr<grpc::Channel>& channel,
                      grpc::CompletionQueue& queue) = 0;
    /// Tells whoever asked. Once.
    virtual void finish(std::optional<Failure> failure, Due& due) = 0;

    void arrived(bool, Due& due) override { owner_.attempted(shared_from_this(), due); }
    void cancel() {
        cancelled = true;
        context->TryCancel();
    }

    const bool proves_user;                      ///< all others wait until it is answered
    std::optional<grpc::ClientContext> context;  ///< of the present attempt
    grpc::Status status;
    std::uint64_t route = 0;        ///< who is asked: see Members
    std::size_t member = 0;         ///< which of them that is
    bool cancelled = false;         ///< the present attempt, by us
    bool torn = false;              ///< something has thrown amid it: nothing more comes of it
    std::set<std::size_t> in_vain;  ///< members, when they were asked last: see is_hopeless()
    bool proved_again = false;      ///< the user, for its sake

private:
    Owner& owner_;
};

template <class Request>
class UnaryCallOf : public UnaryCall {
public:
    using Response = typename Method<Request>::Response;
    using Answered = Callback<void(Answer<Response>)>;

    UnaryCallOf(Owner& owner, Moment until, Request request, Answered answered)
        : UnaryCall(owner, until, std::is_same_v<Request, messages::AuthenticateRequest>),
          request_(std::move(request)),
          answered_(std::move(answered)) {}

    void send(const std::shared_ptr<grpc::Channel>& channel,
              grpc::CompletionQueue& queue) override {
        static const std::string path = Method<Request>::path;
        reader_ = grpc::TemplatedGenericStub<Request, Response>(channel).PrepareUnaryCall(
            &*context, path, request_, &queue);
        reader_->StartCall();
        reader_->Finish(&response_, &status, static_cast<Arrival*>(this));
    }

    void finish(std::optional<Failure> failure, Due& due) override {
        failure_ = std::move(failure);
        due.push_back([self = shared_from_this(), this] { deliver(); });
    }

protected:
    Answer<Response> answer_or(std::optional<Failure> failure) {
        const CallRefusal refusal = failure ? refusal_of(status) : CallRefusal::none;
        Result<Response> result = failure ? Result<Response>(*std::move(failure))
                                          : Result<Response>(std::move(response_));
        return {{std::move(result), repeated, sent}, refusal};
    }

private:
    void deliver() {
        // What it holds goes now, though the call itself may stay for a while.
        const Answered answered = std::move(answered_);
        answered(answer_or(std::move(failure_)));
    }

    const Request request_;
    Response response_;
    std::optional<Failure> failure_;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader_;
    Answered answered_;
};

}  // namespace holdfast::inline v0::etcd
