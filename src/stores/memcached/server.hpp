#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stores/memcached/link.hpp"
#include "stores/memcached/request.hpp"
#include "stores/net/backoff.hpp"
#include "stores/net/conversation.hpp"
#include "stores/net/outflow.hpp"

namespace holdfast::inline v0::memcached {

/// One of a store's servers, by one connection that all threads share: requests that overlap go out
/// together. What was under way when it breaks is sent again on the next one, but for what is meant
/// for it alone: that is told so. So it is with what an exception leaves (out of memory, say), of
/// which nobody knows whom the next answer is for.
/// Threads: all members under the lock of the wire, but for read() and await(), which whoever leads
/// calls without it; whoever leads alone opens and closes the link.
class Server {
public:
    using Lock = std::unique_lock<std::mutex>;
    using Due = net::Due;

    Server(net::Address address, const net::User& user, const std::function<void()>& resolved);

    const net::Address& address() const noexcept { return address_; }

    void submit(std::unique_ptr<Request>&& request);
    void flush(Lock& lock);
    /// Whether whoever leads has to see to what was submitted: to connect, or to wait for room.
    bool needs_leader() const;
    /// Whether one answer is all that is expected of it, soon enough for await().
    bool may_await() const;

    /// What is due: connects, and gives up what is overdue.
    void serve(Moment now, Due& due);
    pollfd awaited() const;
    /// What has come in.
    void read(short events);
    /// Blocks until an answer has come in.
    void await();
    void take(Due& due);
    /// When the next thing is due by itself; never: Moment::max().
    Moment earliest() const;

private:
    using Conversation = net::Conversation<Request>;

    template <class Step>
    void whole(Step step);
    bool is_torn() const noexcept { return torn_ || outflow_.is_torn(); }
    void make_room(Due& due) const;
    void serve_requests(Moment now, Due& due);
    void connect(Moment now, Due& due);
    void connected();
    void lost(Moment now, const std::optional<Failure>& why, Due& due);
    void part(Conversation::GivenUps given_up, Due& due);
    void answer_parted(Due& due);
    bool is_for_another(const Request& request) const;
    bool settle(Reply reply, Due& due);
    void encode(std::string& bytes);

    const net::Address address_;
    const net::User& user_;
    Link link_;
    Conversation conversation_;
    net::Outflow outflow_;
    net::Backoff backoff_;
    std::uint64_t connections_ = 0;  ///< that there were
    std::uint64_t connection_ = 0;   ///< the present one; nought: there is none
    bool torn_ = false;              ///< by an exception; closed since, but lost() is not done
    /// Submitted for a connection that is gone.
    std::vector<std::unique_ptr<Request>> parted_;

    // Of a turn: whoever leads has them to itself. What was read and not taken yet stays here.
    std::vector<Reply> replies_;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::memcached
