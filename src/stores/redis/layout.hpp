#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "port/store.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/redis_wire.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/waiters.hpp"

namespace holdfast::inline v0::redis {

/// How locks are kept in the server: which commands the verbs are, and what is answered to them.
/// Knows nothing of connections and time. Threads: all members may be called from any thread.
class Layout {
public:
    virtual ~Layout() = default;

    virtual Capabilities capabilities() const = 0;
    virtual RedisWire::Pushes pushes() const = 0;

    /// The key of the lock itself.
    virtual std::string key_of(std::string_view resource) const = 0;

    /// Why no lock can have this name, in a sentence; nothing when one can.
    virtual std::optional<std::string> objection_to(std::string_view resource) const = 0;
    /// Why no contender at this place can have so long a lease, as above.
    virtual std::optional<std::string> objection_to(std::string_view place,
                                                    std::chrono::milliseconds lease) const = 0;

    virtual Command enter(std::span<const Contender> contenders) const = 0;
    /// `waiter` is what this client knows of it, if it believes that it waits.
    virtual Command standing(const Ticket& ticket, const Waiter* waiter) const = 0;
    struct Renewal {
        Ticket ticket;
        std::optional<Waiter> waiter;
    };
    /// All of one resource.
    virtual Command renew(std::span<const Renewal> renewals, const Extension& extension) const = 0;
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
        std::string type;
    };
    virtual Result<Search> search(std::string_view prefix) const = 0;
    /// The resource whose key this is; nothing when it is another kind of key.
    virtual std::optional<std::string> resource_of(const std::string& key) const = 0;
    /// As a page tells of it. Nothing when nobody is there.
    virtual std::optional<Line> line_of(const std::string& resource, const Reply& reply) const = 0;

    /// Whom a push concerns.
    struct Told {
        std::optional<Nonce> nonce = std::nullopt;  ///< exactly this one
        std::vector<std::string> keys = {};         ///< whoever has waited longest for these
        bool everybody = false;
        Standing standing = {};
    };
    virtual Told told(const Reply& message) const = 0;
    /// Who is told of a free lock in the layouts of others wakes the next one when it is not, or
    /// not alone, what it came for.
    virtual bool waiters_wake_each_other() const = 0;
};

std::unique_ptr<Layout> holdfast_layout();
std::unique_ptr<Layout> plain_layout();
/// `watchdog` is the time that Redisson's readers renew for (its lockWatchdogTimeout).
std::unique_ptr<Layout> redisson_layout(std::chrono::milliseconds watchdog);

}  // namespace holdfast::inline v0::redis
