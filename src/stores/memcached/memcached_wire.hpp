#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/wire.hpp"
#include "stores/memcached/continuum.hpp"
#include "stores/memcached/request.hpp"
#include "stores/memcached/server.hpp"
#include "stores/memcached/servers.hpp"
#include "stores/net/bell.hpp"

namespace holdfast::inline v0::memcached {

/// The connections of one client to the servers of a store: whoever leads polls them all, and reads
/// for everybody. Which of them has a key, the Continuum says, whether that one answers or not:
/// were another asked instead, two could hold.
class MemcachedWire final : public Wire {
public:
    using Answered = Callback<void(Answer)>;

    explicit MemcachedWire(const Servers& servers);
    ~MemcachedWire() override;

    struct Terms {
        /// For one connection alone: see Request.
        std::uint64_t only_on = 0;
        /// For how long it is tried.
        Moment until = Moment::max();
    };
    /// Of whatever begins now.
    Moment until() const { return BootClock::now() + request_timeout_; }
    /// Sends it, soon, to whoever has the key; `answered` is called once, as one of the callbacks
    /// of a turn.
    void submit(const std::string& key, Command command, Answered answered, Terms terms);
    void submit(const std::string& key, Command command, Answered answered) {
        submit(key, std::move(command), std::move(answered), {.until = until()});
    }
    /// The same, not before that moment, while somebody leads then.
    void submit_at(Moment moment, const std::string& key, Command command, Answered answered);
    /// Asks each of the servers for nothing.
    void greet(const std::function<void(const Answer&)>& answered);
    std::size_t servers() const noexcept { return servers_.size(); }

private:
    using Lock = std::unique_lock<std::mutex>;
    struct Postponed {
        std::size_t server;
        std::unique_ptr<Request> request;
    };

    void send(Server& server, std::unique_ptr<Request>&& request);
    void turn(std::optional<Moment> until, Due& due) override;
    void send_postponed(Moment now);
    bool may_await(std::optional<Moment> until) const;
    void await_answer(Lock& lock, Due& due);
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    void poll_for(std::vector<pollfd>& descriptors) const;
    void flush_all(Lock& lock);

    const net::User user_;
    const std::chrono::milliseconds request_timeout_;
    const Continuum continuum_;
    const net::Bell bell_;

    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Server>> servers_;  ///< as the URL names them
    std::multimap<Moment, Postponed> postponed_;

    std::vector<pollfd> polled_;  ///< of whoever leads
};

}  // namespace holdfast::inline v0::memcached
