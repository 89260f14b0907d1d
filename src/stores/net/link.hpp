#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/address.hpp"
#include "stores/net/dial.hpp"
#include "stores/net/socket.hpp"

namespace holdfast::inline v0::net {

/// One connection to a server: found, connected, secured and greeted without ever blocking. What is
/// said first, and what comes in, is known where its kind of server is.
/// Threads: one at a time, except that the Socket which it gives out may be written to meanwhile.
class Link {
public:
    enum class State : std::uint8_t {
        down,
        connecting,
        greeting,  ///< what must be said and answered first
        ready,
    };

    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    State state() const noexcept { return state_; }
    bool ready() const noexcept { return state_ == State::ready; }
    /// When the attempt began: nothing of it was sent earlier.
    Moment opened() const noexcept { return opened_; }
    void close() noexcept;

    /// What to poll for: the descriptor is -1 while there is none.
    int descriptor() const noexcept { return socket_ ? socket_->descriptor() : -1; }
    short wanted() const noexcept;
    /// When the attempt to connect ends, or it is another endpoint's turn.
    std::optional<Moment> deadline() const noexcept;

    /// Goes on connecting as far as it goes without blocking. A failure leaves it down, and so does
    /// an exception.
    std::optional<Failure> advance(Moment now);
    /// Of an attempt that failed: a server is there, and trying again cannot mend what is wrong
    /// with it.
    bool is_hopeless() const noexcept { return hopeless_; }
    const std::shared_ptr<Socket>& socket() const noexcept { return socket_; }

protected:
    /// Which of several endpoints behind one name will do.
    enum class Suffices : std::uint8_t {
        connection,  ///< the first with which there is one
        greeting,    ///< the first that answers to it
    };
    using Read = Socket::Transfer (Socket::*)(char* buffer, std::size_t size);

    /// `resolved` is called on any thread when a host's name was looked up.
    Link(std::function<void()> resolved, Suffices suffices)
        : resolved_(std::move(resolved)), suffices_(suffices) {}
    ~Link() = default;

    /// Starts to connect, when it is down. The endpoint with the number `first` is tried before the
    /// others. The address must outlive the connection.
    void open(const Address& address, Moment now, std::size_t first_endpoint = 0);

    /// A connection was made, of which nothing was read. What is to be said first on it.
    virtual std::string greeting() = 0;
    /// Reads on what is answered to that: until it may be_ready(), or there is more to say().
    virtual std::optional<Failure> hear_greeting() = 0;
    /// The connection was made, or greeted, too late.
    virtual Failure late() const = 0;
    /// What is wrong with a connection that does not read or write any more.
    virtual Failure broken(const Socket::Transfer& transfer) const = 0;

    void say(std::string bytes) { unsent_ = std::move(bytes); }
    bool is_all_said() const noexcept { return unsent_.empty(); }
    /// Others write to it from now on.
    void be_ready() noexcept { state_ = State::ready; }
    void be_hopeless() noexcept { hopeless_ = true; }
    Failure fault(errc code, const std::string& why) const {
        return {code, Effect::none, address_->shown() + ": " + why};
    }

    /// What has come in, piece by piece, until there is nothing left, or `take(bytes)` returns a
    /// failure. `first` may wait for it. Changes nothing that others look at, so it needs no lock.
    /// What it has no memory for is lost, and with it the connection.
    template <class Take>
    std::optional<Failure> read(Read first, Take take) {
        return or_out_of_memory([&] { return read_all(first, take); });
    }

    /// What the step returns, or that it has failed: in words that need no memory.
    template <class Step>
    static std::optional<Failure> or_out_of_memory(Step step) {
        try {
            return step();
        } catch (const std::exception&) {
            return Failure{errc::unreachable, Effect::none, "out of memory"};
        }
    }

    /// The same through a reader of replies, appended to `replies` as they are complete. One that
    /// throws Error does not hear its `protocol`.
    template <class Reader, class Reply>
    std::optional<Failure> read(Read first, Reader& reader, std::vector<Reply>& replies,
                                const char* protocol) {
        return read(first, [&](std::string_view bytes) -> std::optional<Failure> {
            reader.feed(bytes);
            try {
                while (auto reply = reader.next()) replies.push_back(*std::move(reply));
            } catch (const Error& error) {
                return fault(errc::bad_configuration, std::string("it does not speak ") + protocol +
                                                          " protocol (" + error.what() +
                                                          "); check host and port");
            }
            return std::nullopt;
        });
    }

private:
    template <class Take>
    std::optional<Failure> read_all(Read first, Take& take) {
        std::array<char, 16'384> buffer;
        for (Read next = first;; next = &Socket::read) {
            const auto transfer = (socket_.get()->*next)(buffer.data(), buffer.size());
            if (transfer.outcome == Socket::Outcome::would_block) return std::nullopt;
            if (transfer.outcome != Socket::Outcome::done) return broken(transfer);
            if (auto failure = take(std::string_view(buffer.data(), transfer.bytes))) {
                return failure;
            }
            // A short read has emptied the socket; what comes next, poll() will tell.
            const bool tls = address_->reach == Address::Reach::tls;
            if (transfer.bytes < buffer.size() && !tls) return std::nullopt;
        }
    }

    std::optional<Failure> go_on(Moment now);
    std::optional<Failure> connect();
    std::optional<Failure> greet();
    std::optional<Failure> try_another(const Failure& failure);

    const std::function<void()> resolved_;
    const Suffices suffices_;
    const Address* address_ = nullptr;
    State state_ = State::down;
    Moment opened_{};
    bool hopeless_ = false;
    std::optional<Dial> dial_;
    std::shared_ptr<Socket> socket_;
    std::string unsent_;  ///< of what is said first
};

}  // namespace holdfast::inline v0::net
