#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "port/clock.hpp"
#include "stores/etcd/etcd.pb.h"
#include "stores/etcd/stream.hpp"
#include "stores/net/backoff.hpp"

namespace holdfast::inline v0::etcd {

namespace messages = ::holdfast_etcd;

/// The stream of events: one for all keys that a client watches.
///
/// A watch begins with what happens next, and not with what happened since the key was seen: a
/// server serves one that begins in the past only ten times a second, and the present one at once.
/// So when the watch was made at a later revision than the key was seen at, the listener has to
/// look at it once more. Threads: everything with the wire's lock held.
class Watches final : public Stream<messages::WatchRequest, messages::WatchResponse>::Listener {
public:
    using Request = messages::WatchRequest;
    using Response = messages::WatchResponse;
    using Session = Stream<Request, Response>;
    using Due = Arrival::Due;

    enum class Events : std::uint8_t { end, end_or_write };
    enum class What : std::uint8_t { ended, written };
    /// Called as callbacks of a turn.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// It is watched no more.
        virtual void stirred(const std::string& key, What what) = 0;
        /// From now on it is watched; what happened to it after `since` is not known.
        virtual void look_again(const std::string& key, std::int64_t since) = 0;
    };

    void listen(const std::weak_ptr<Listener>& listener) { listener_ = listener; }

    /// One that is watched already stays so.
    void add(const std::string& key, Events events, std::int64_t since);
    void remove(const std::string& key);

    bool wants_stream() const { return !stream_ && !keys_.empty(); }
    /// Everything is watched again on this one.
    void use(std::shared_ptr<Session> stream);
    void drop_stream();
    std::optional<std::uint64_t> route() const;
    /// No stream is opened before: something was refused on the last one.
    Moment next() const noexcept { return refusals_.next(); }
    void refused(Moment now) { refusals_.failed(now); }
    /// Since when a member has not said that it watches something.
    std::optional<Moment> waiting_since() const;

    void received(const Response& message, Due& due) override;
    void broke(const grpc::Status& status, Due& due) override;
    std::optional<Break> take_break();

private:
    struct Watched {
        std::int64_t id = 0;
        Events events = Events::end;
        std::int64_t since = 0;
    };
    void create(const std::string& key, Watched& watched);
    void cancel(std::int64_t id);
    bool is_refusal(const Response& message) const;
    void created(const std::string& key, std::int64_t revision, Due& due);

    std::weak_ptr<Listener> listener_;
    std::shared_ptr<Session> stream_;
    std::map<std::string, Watched> keys_;
    std::map<std::int64_t, std::string> by_id_;
    std::map<std::int64_t, Moment> unconfirmed_;  ///< since when
    std::int64_t next_id_ = 1;
    std::optional<Break> break_;
    net::Backoff refusals_;
};

}  // namespace holdfast::inline v0::etcd
