#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <holdfast/callback.hpp>

#include "port/failure.hpp"
#include "stores/etcd/stream.hpp"
#include "stores/listed/entrants.hpp"

namespace holdfast::inline v0::etcd {

/// The stream on which leases are kept alive: one for all of a client's. Answers come in order.
class KeepAlives final
    : public Streaming<messages::LeaseKeepAliveRequest, messages::LeaseKeepAliveResponse> {
public:
    struct Kept {
        std::chrono::seconds ttl;  ///< 0: the lease is over
        Moment sent;
        std::uint64_t term = 0;  ///< of whoever says so
    };
    using Answered = Callback<void(Result<Kept>)>;

    void add(std::int64_t lease, Moment deadline, Answered answered);

    /// Since when an answer is awaited.
    std::optional<Moment> waiting_since() const;
    std::optional<Moment> earliest_deadline() const;
    void expire(Moment now, const Failure& failure, Due& due);

    void received(const messages::LeaseKeepAliveResponse& message, Due& due) override;

private:
    struct Asked {
        std::int64_t lease;
        Moment deadline;
        Answered answered;  ///< empty: its time was up, and its answer is still to come
        Moment sent{};
    };
    struct Told {
        Answered answered;
        Result<Kept> result;
    };
    void send(Asked& one);
    static void tell(Asked& one, const Result<Kept>& result, Due& due);
    bool has_work() const override { return !asked_.empty(); }
    void ask_all() override {
        for (Asked& one : asked_) send(one);
    }
    void dropped() override {
        std::erase_if(asked_, [](const Asked& one) { return !one.answered; });
    }

    std::deque<Asked> asked_;  ///< in the order in which they were sent, or are to be
};

/// The stream of events: one for all keys that a client watches.
///
/// A watch begins with what happens next, and not with what happened since the key was seen: a
/// server serves one that begins in the past only ten times a second, and the present one at once.
/// So when the watch was made at a later revision than the key was seen at, the listener has to
/// look at it once more.
class Watches final : public Streaming<messages::WatchRequest, messages::WatchResponse> {
public:
    enum class Events : std::uint8_t { end, end_or_write };  ///< the wider ones last
    /// Called as callbacks of a turn.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// It is watched no more.
        virtual void stirred(const std::string& key, listed::NodeEvent event) = 0;
        /// From now on it is watched; what happened to it after `since` is not known.
        virtual void look_again(const std::string& key, std::int64_t since) = 0;
    };

    void listen(const std::weak_ptr<Listener>& listener) { listener_ = listener; }

    /// One that is watched already stays so; or anew, for more events, or for one who saw it
    /// earlier: another one may have had the key by then.
    void add(const std::string& key, Events events, std::int64_t since);
    void remove(const std::string& key);

    /// Since when a member has not said that it watches something.
    std::optional<Moment> waiting_since() const;

    void received(const messages::WatchResponse& message, Due& due) override;

private:
    struct Watched {
        std::int64_t id = 0;
        Events events = Events::end;
        std::int64_t since = 0;
    };
    void create(const std::string& key, Watched& watched);
    void forget(std::int64_t id);
    bool is_refusal(const messages::WatchResponse& message) const;
    bool has_work() const override { return !keys_.empty(); }
    void ask_all() override;
    void dropped() override;
    void created(const std::string& key, std::int64_t revision, Due& due);

    std::weak_ptr<Listener> listener_;
    std::map<std::string, Watched> keys_;
    std::map<std::int64_t, std::string> by_id_;
    std::map<std::int64_t, Moment> unconfirmed_;  ///< since when
    std::int64_t next_id_ = 1;
};

}  // namespace holdfast::inline v0::etcd
