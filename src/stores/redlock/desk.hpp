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
        : proposals_(terms), troubles_(terms.nodes), agreed_(terms.nodes) {}

    /// What a node has answered, and when.
    Heard heard(std::size_t node, const redis::Answer& answer);
    /// The fence that somebody who enters now proposes.
    std::uint64_t proposal() const;
    /// Why its last request was not answered; nothing when it was.
    std::optional<Failure> trouble_with(std::size_t node) const;
    /// The longest max_lease of other clients of which a node has told, if it is not ours.
    std::chrono::milliseconds max_lease_of_others() const;

private:
    void note_terms(std::size_t node, const Vote& vote);

    mutable std::mutex mutex_;
    Proposals proposals_;
    std::vector<std::optional<Failure>> troubles_;
    std::vector<std::chrono::milliseconds> agreed_;  ///< nought: on ours, as far as is known
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
