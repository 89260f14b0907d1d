#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"

/// How independent nodes decide who holds: votes go in, decisions come out. No I/O, and time and
/// chance are inputs. Why two never hold at once, and why fences rise, decision 26 argues, and
/// tests/exploration tries in every order of messages.
namespace holdfast::inline v0::redlock {

/// What all clients of a set of nodes agree on.
struct Terms {
    std::size_t nodes = 3;
    /// No lease is longer, and so long a node that has forgotten does not count.
    std::chrono::milliseconds max_lease = std::chrono::minutes{1};

    std::size_t majority() const noexcept { return nodes / 2 + 1; }
    auto operator<=>(const Terms&) const = default;
};

/// What one node says of one contender.
struct Vote {
    enum class Kind : std::uint8_t {
        none,       ///< nothing yet
        admitted,   ///< it is in, with this fence
        busy,       ///< others are
        gone,       ///< it is not in, and will not be: it has left, or its lease is over
        forgetful,  ///< the node may have forgotten leases that are not over
        ahead,      ///< the fence that it should take is too far ahead of the node's clock
        disagreed,  ///< its clients have another max_lease
        other_set,  ///< its clients name other nodes beside it
        silent,     ///< no answer came
    };

    Kind kind = Kind::none;
    std::uint64_t fence = 0;
    Nonce rival = {};  ///< of a busy node: one of those who are in
    /// Until the rival's lease is over, or the node counts. Where it disagrees, that max_lease.
    std::chrono::milliseconds after{0};

    auto operator<=>(const Vote&) const = default;
};

enum class Decision : std::uint8_t {
    open,       ///< it depends on who has not answered yet
    admitted,   ///< by a majority
    gone,       ///< no majority has it any more, whatever the others say
    held,       ///< one rival has a majority
    contested,  ///< rivals have split the nodes, and perhaps none of them has a majority
    too_few,    ///< so few nodes count that there is no majority
    late,       ///< it was admitted, but its lease may be over by now
};

/// The moment from which a lease counts that each node counts by a clock of its own from a moment
/// after `sent`: less what these run apart, and the milliseconds in which a server ends keys.
constexpr Moment counted_from(Moment sent, std::chrono::milliseconds lease) {
    return sent - lease / 100 - std::chrono::milliseconds{2};
}

/// One contender that enters at all nodes at once. It is admitted when a majority has let it in
/// *and* stores its fence, which is the highest of theirs: where they differ, it is written back.
///
/// Unless it is admitted, it has to leave everywhere, also where no answer came from.
class Ballot {
public:
    enum class Storing : std::uint8_t { no, asked, refused };
    /// What is known of one node.
    struct Node {
        Vote vote = {};
        Storing storing = Storing::no;  ///< of the write-back
        /// Its fence is so far ahead that no majority would store it.
        bool discounted = false;
        auto operator<=>(const Node&) const = default;
    };

    Ballot(Terms terms, std::chrono::milliseconds lease, Moment sent);

    /// What a node answered to enter. Its first answer counts.
    void entered(std::size_t node, const Vote& vote);
    /// What it answered to a write-back: `admitted` with a fence that is not lower.
    void wrote_back(std::size_t node, const Vote& vote);
    /// Whoever has not answered will not be heard, nor asked again.
    void give_up();

    Decision decision(Moment now) const;
    /// Nought until a majority has let it in.
    std::uint64_t fence() const noexcept { return fence_; }
    /// The nodes that should be told to raise the contender's fence to fence(). Each once a fence.
    std::vector<std::size_t> write_backs();
    /// What its lease counts from.
    Moment counted_from() const noexcept { return redlock::counted_from(sent_, lease_); }

    const std::vector<Node>& nodes() const noexcept { return nodes_; }
    /// How many nodes said so.
    std::size_t count(Vote::Kind kind) const;
    /// How long it takes until no more than a minority is busy, or does not count, if none is
    /// given back before.
    std::chrono::milliseconds until_free() const;

    auto operator<=>(const Ballot&) const = default;

private:
    void agree_on_fence();
    std::optional<std::uint64_t> highest_fence() const;
    void discount(std::uint64_t fence);
    bool has_let_in(const Node& node) const;
    bool stores(const Node& node) const;
    bool may_store(const Node& node) const;
    bool has_rival_with_majority() const;
    template <class Condition>
    std::size_t count_if(Condition condition) const;

    Terms terms_;
    std::chrono::milliseconds lease_;
    Moment sent_;
    std::uint64_t fence_ = 0;
    bool given_up_ = false;
    std::vector<Node> nodes_;
};

/// What the nodes say of a contender that was in, to one request: a renewal, a look, a leave.
class Tally {
public:
    explicit Tally(Terms terms);

    /// What a node answered. Its first answer counts.
    void take(std::size_t node, const Vote& vote);
    /// Whoever has not answered will not be heard.
    void give_up();
    /// open, admitted, gone or too_few.
    Decision decision() const;
    const std::vector<Vote>& votes() const noexcept { return votes_; }

    auto operator<=>(const Tally&) const = default;

private:
    std::size_t count(Vote::Kind kind) const;

    Terms terms_;
    std::vector<Vote> votes_;
};

/// What the nodes' clocks show, as far as their answers have told: so a contender can propose a
/// fence that all of them take as it stands, and nothing has to be written back.
class Proposals {
public:
    explicit Proposals(Terms terms);

    /// What a node's clock showed before now. The fences that nodes give are not learnt from: who
    /// proposes the next one after each would be ahead of all clocks in the end.
    void heard(std::size_t node, std::chrono::microseconds clock, Moment now);
    /// A little more than the highest clock shows now, but for those that are far ahead of most.
    /// Nought while nothing was heard.
    std::uint64_t next(Moment now) const;

private:
    Terms terms_;
    std::vector<std::optional<std::chrono::microseconds>> ahead_;  ///< of our own clock
};

/// How long one that was refused by rivals waits before it tries again: up to twice the time that a
/// flight takes, then twice as long each time, and never the same for two.
std::chrono::nanoseconds back_off(unsigned tries, std::chrono::nanoseconds flight,
                                  std::uint64_t random);

}  // namespace holdfast::inline v0::redlock
