#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/options.hpp>

#include "port/clock.hpp"

namespace holdfast::inline v0 {

/// The capacity of an exclusive or shared resource. Not 2^53 (rounds in Lua) nor 2^64 (wraps).
inline constexpr std::uint64_t all = 1'000'000'000;

/// Fences stay below this, so that Lua, JSON and SQL keep every digit.
inline constexpr std::uint64_t fence_limit = std::uint64_t{1} << 53;

/// Tells one acquisition from every other, for ever; makes every request repeatable.
struct Nonce {
    std::array<std::byte, 16> bytes{};
    auto operator<=>(const Nonce&) const = default;
};

/// What becomes of a contender that is not admitted at once.
enum class Patience : std::uint8_t {
    none,  ///< it leaves no ticket
    wait,  ///< it stands in line
};

/// Which kind of lock it is asked for through. The rule is the same for all; the layouts of others
/// keep them apart.
enum class Form : std::uint8_t { mutex, read_write, permits };

/// One request for a resource.
struct Contender {
    std::string resource;  ///< the whole name, prefix included
    Nonce nonce;
    std::string owner;
    std::uint64_t weight = all;
    std::uint64_t capacity = all;
    Form form = Form::mutex;
    Fairness fairness = Fairness::fifo;
    Patience patience = Patience::wait;
    std::chrono::milliseconds lease{0};
    bool reenter = false;  ///< join an admitted contender of the same owner
    /// Where it comes from, for listings alone: nothing is decided by it.
    std::string host = {};
    int pid = 0;
};

/// A contender's place, as its store finds it again.
struct Ticket {
    std::string resource;
    Nonce nonce;
    /// The store's own: a number, a node, a key with its revision. Empty when enter was never
    /// answered: then the store looks for the nonce, and leaving plants a tombstone for it.
    std::string place;
};

/// How long a renewal makes a lease, and which of two renewals is the later one: a late copy of the
/// earlier must not shorten what the later one has lengthened.
struct Extension {
    template <class Rep, class Period>
    Extension(std::chrono::duration<Rep, Period> length, Moment sent = BootClock::now())
        : lease(std::chrono::duration_cast<std::chrono::milliseconds>(length)),
          serial(static_cast<std::uint64_t>(
              std::chrono::duration_cast<std::chrono::microseconds>(sent.time_since_epoch())
                  .count())) {}

    std::chrono::milliseconds lease;
    /// Rises with every renewal of a contender; its enter counts as nought.
    std::uint64_t serial;
};

/// Where a contender stands.
struct Standing {
    enum class State : std::uint8_t {
        waiting,
        offered,  ///< its turn: claim it by renew
        admitted,
        gone,  ///< not in line: never was, refused, left, broken, or its lease ended
    };

    State state = State::gone;
    /// The fence of an admitted contender; else 0.
    std::uint64_t fence = 0;
    /// The moment from which the lease counts, where that is not the send of the request that this
    /// answers (a lease that many contenders share, a session).
    std::optional<Moment> counted_from = std::nullopt;
    /// Told to the stand-by, and to some behind it for a moment after that: nothing will be pushed
    /// when the lease or claim ahead of it merely ends, so ask again after this long.
    std::optional<std::chrono::nanoseconds> look_again = std::nullopt;
    /// What the clock that leases are counted by said when a renewal was dealt with, where that is
    /// a server's.
    std::optional<std::chrono::microseconds> server_clock = std::nullopt;
};

/// The answer to enter, one for each contender that was looked at.
struct Entry {
    Ticket ticket;
    Standing standing;
};

/// A contender in a listing. Its ticket is enough to end it.
struct Place {
    Ticket ticket;
    std::string owner;
    std::uint64_t weight = 0;
    std::uint64_t fence = 0;
    std::chrono::milliseconds lease_left{0};  ///< negative: a foreign one's that never ends
    std::string host = {};                    ///< empty: unknown
    int pid = 0;                              ///< 0: unknown
    /// How long it has been admitted or, of one that is not, in line. Unset: unknown.
    std::optional<std::chrono::milliseconds> age = std::nullopt;
    /// One that contends for the lock by other means than ours. It has a fence only where the store
    /// gives everybody one.
    bool foreign = false;
};

/// A resource and who contends for it.
struct Line {
    std::string resource;
    std::uint64_t capacity = 0;
    Fairness fairness = Fairness::fifo;
    std::vector<Place> holders;  ///< admitted or offered
    std::vector<Place> waiters;  ///< in order
};

}  // namespace holdfast::inline v0
