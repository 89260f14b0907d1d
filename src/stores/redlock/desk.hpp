#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "port/failure.hpp"
#include "stores/redlock/quorum.hpp"
#include "stores/redlock/redlock_wire.hpp"
#include "stores/redlock/requests.hpp"

namespace holdfast::inline v0::redlock {

/// What one client has learnt of its nodes. Threads: all members may be called from any thread.
class Acquaintance {
public:
    explicit Acquaintance(Terms terms)
        : terms_(terms), proposals_(terms), troubles_(terms.nodes), agreements_(terms.nodes) {}

    /// What a node has answered, and when.
    Heard heard(std::size_t node, const redis::Answer& answer);
    /// The fence that somebody who enters now proposes.
    std::uint64_t proposal() const;
    /// Why its last request was not answered; nothing when it was.
    std::optional<Failure> trouble_with(std::size_t node) const;
    /// The last vote of a node whose clients agree on something else than ours, of any that counts
    /// more than those who agree with us.
    std::optional<Vote> objection() const;

private:
    /// Of the clients of one node among each other.
    struct Agreement {
        /// Of one that does not agree with us.
        std::optional<Vote> objection = std::nullopt;
        struct Since {
            Moment counted;  ///< the node has forgotten nothing
            Moment named;    ///< its clients name the nodes that they name
        };
        /// Nothing: not known, or the node does not count yet.
        std::optional<Since> since = std::nullopt;
    };
    static Agreement::Since since(const Heard::Ages& ages, Moment now);
    void note_agreement(std::size_t node, const Heard& heard, Moment now);
    bool is_outweighed(const Agreement& other, Moment now) const;

    const Terms terms_;
    mutable std::mutex mutex_;
    Proposals proposals_;
    std::vector<std::optional<Failure>> troubles_;
    std::vector<Agreement> agreements_;
};

/// What everything that is under way shares of its store, which it does not keep alive.
struct Desk {
    RedlockWire& wire;
    const Requests& requests;
    Acquaintance& acquaintance;
    const std::string& description;
    std::weak_ptr<const void> store;

    const Terms& terms() const noexcept { return requests.terms(); }
};

/// How much longer those are waited for who have not answered, once a majority has and it depends
/// on the others: so one that is dead or stands still costs no request_timeout, and nothing where
/// that is known. `began`: when all were asked.
std::chrono::nanoseconds grace_for(const Desk& desk, std::span<const std::size_t> others,
                                   Moment began);

}  // namespace holdfast::inline v0::redlock
