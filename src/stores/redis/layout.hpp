#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "port/store.hpp"
#include "port/store_url.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/redis_wire.hpp"
#include "stores/redis/reply.hpp"
#include "stores/scripted/news.hpp"
#include "stores/scripted/protocol.hpp"
#include "stores/scripted/waiters.hpp"

namespace holdfast::inline v0::redis {

/// How locks are kept in the server: which commands the verbs are, and what is answered to them.
/// Knows nothing of connections. Threads: all members may be called from any thread.
class Layout {
public:
    virtual ~Layout() = default;

    virtual Capabilities capabilities() const = 0;
    virtual RedisWire::Pushes pushes() const = 0;

    /// The key of the lock itself.
    virtual std::string key_of(std::string_view resource) const = 0;

    /// Why there cannot be such a lock, contender or lease, in a sentence; nothing when there can.
    std::optional<std::string> objection_to(const std::string& resource) const {
        return objection_to_name(resource);
    }
    std::optional<std::string> objection_to(const Contender& contender) const;
    std::optional<std::string> objection_to(const Ticket& ticket,
                                            std::chrono::milliseconds lease) const {
        return objection_to_lease(ticket.place, lease);
    }

    Command greeting() const { return {"ECHO", "holdfast"}; }

    virtual Command enter(std::span<const Contender> contenders) const = 0;
    virtual Command standing(const Ticket& ticket) const = 0;
    /// A script for each resource, for all keys of one are in one slot. They go out together.
    virtual std::vector<scripted::Batch<Command>> renewals(std::span<const Ticket> tickets,
                                                           std::span<const std::size_t> which,
                                                           const Extension& extension) const;
    virtual Command leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const = 0;
    /// A page of those who hold the lock or wait for it: the first, or what next_page() names.
    virtual Command inspect(const std::string& key, const std::string& page) const = 0;
    /// Where the page begins that follows this one; empty behind the last.
    virtual std::string next_page(const Reply& reply) const = 0;

    /// The place of a contender's ticket, as enter answered it.
    virtual std::string place_of(const Contender& contender, std::int64_t number) const = 0;
    /// How long until the asker should look again, from what a script says.
    virtual std::optional<std::chrono::nanoseconds> look_again(std::int64_t milliseconds) const = 0;

    /// What SCAN looks for; nothing when so much cannot be listed.
    struct Search {
        std::string pattern;
        std::string type = {};  ///< empty: any
    };
    virtual Result<Search> search(std::string_view prefix) const = 0;
    /// The resource whose key this is; nothing when it is another kind of key.
    virtual std::optional<std::string> resource_of(const std::string& key) const = 0;
    /// Why nothing can be listed beside such a key, in a sentence; nothing when it can.
    virtual std::optional<std::string> objection_to_key(const std::string& /*key*/) const {
        return std::nullopt;
    }
    /// As a page tells of it. Nothing when nobody is there.
    virtual std::optional<Line> line_of(const std::string& resource, const Reply& reply) const = 0;

    /// What a push says.
    virtual scripted::News news(const Reply& message) const = 0;
    /// Those of this client who wait.
    virtual scripted::Waiters& waiters() const = 0;

protected:
    virtual std::optional<std::string> objection_to_name(std::string_view /*resource*/) const {
        return std::nullopt;
    }
    virtual std::optional<std::string> objection_to_lease(
        std::string_view /*place*/, std::chrono::milliseconds /*lease*/) const {
        return std::nullopt;
    }
    /// `which` of the tickets: all of one resource.
    virtual Command renew(std::span<const Ticket> tickets, std::span<const std::size_t> which,
                          const Extension& extension) const = 0;
};

/// Which of a resource's keys a script is handed.
enum class Handed : std::uint8_t {
    usual,  ///< those of the usual case: each word costs the server more than many a command
    all,    ///< a cluster must know before a script begins what it may touch
};
std::unique_ptr<Layout> holdfast_layout(Handed handed = Handed::usual);
std::unique_ptr<Layout> plain_layout();
/// `watchdog` is the time that Redisson's readers renew for (its lockWatchdogTimeout).
std::unique_ptr<Layout> redisson_layout(std::chrono::milliseconds watchdog);
/// The one that the URL asks for. Throws Error with errc::bad_configuration when there is none.
std::unique_ptr<Layout> layout_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::redis
