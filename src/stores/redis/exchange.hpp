#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "port/clock.hpp"
#include "stores/net/conversation.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/functions.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::inline v0::redis {

/// What one server is asked, by a connection after the other: requests that overlap go out together
/// and, where one script can carry them out, as one request of the server's; and scripts go in the
/// way in which it knows them. No I/O.
///
/// They are carried out in the order in which they were submitted: behind a script that the server
/// may not know, and would have to be given first, nothing goes out until it has answered, but for
/// those who leave. That
/// order is lost where a server forgets what it knew, or turns away one of those that are under way
/// and not the next.
/// Threads: as of a Node.
class Exchange : public net::Conversation<Request> {
    using Base = net::Conversation<Request>;

public:
    /// What a server said to a request, be it an error.
    struct Answered {
        std::unique_ptr<Request> request;
        Reply reply;
    };

    /// The address must outlive it.
    explicit Exchange(const Address& address)
        : Base(address.shown(), address.request_timeout), address_(address) {}

    /// What goes out from now on names this run of the server, where it has a word for that.
    void signed_by(std::string_view run) { run_ = run; }
    /// Whether something that waits may go out now.
    bool may_encode() const;
    /// Appends what may, as it is sent; it is under way from now on.
    void encode(std::string& bytes);
    /// What came next. Appended to `answered` is what ends by it; what the server only refuses in
    /// this way, or just now, waits again. After an exception nobody knows what the next answer is
    /// of: the connection is to be given up, by lost().
    void take(Reply reply, std::vector<Answered>& answered);

    /// As of a Conversation.
    GivenUps lost();

private:
    /// What the next answer is of.
    struct Expected {
        std::size_t requests = 0;
        /// What they are asked for by; of no request: whose library the server was given.
        const Script* script = nullptr;
        Way way = {};
        bool is_known = true;
    };

    void expect(Expected answer);
    void encode_libraries(std::string& bytes);
    std::size_t encode_group(std::size_t first, std::string& bytes);
    std::size_t size_of_group(std::size_t first) const;
    bool may_go(const Request& request) const;
    void ask_for(const Script* script, Way way, std::size_t requests);
    bool ask_otherwise(const Expected& expected, std::string_view error);
    void refused_together(const Reply& reply, std::size_t requests,
                          std::vector<Answered>& answered);
    void settle(Reply reply, std::vector<Answered>& answered);

    const Address& address_;
    std::deque<std::size_t> batch_sizes_;  ///< in answers, of what is in flight, as it went out
    std::deque<Expected> expected_;        ///< for each answer that is to come
    Functions functions_;
    std::size_t on_trial_ = 0;           ///< how many are under way by scripts that it may not know
    std::string run_ = {};               ///< empty: no request names it
    Moment apart_until_{};               ///< it refused some that were sent together
    std::vector<const Command*> group_;  ///< empty
};

}  // namespace holdfast::inline v0::redis
