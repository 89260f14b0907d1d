#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "stores/redlock/quorum.hpp"

namespace holdfast::exploration {

/// A node's clock, or what it shows.
using Wall = std::chrono::microseconds;

/// What a client asks of a node.
struct Request {
    enum class Kind : std::uint8_t { enter, renew, leave };

    Kind kind = Kind::enter;
    Nonce nonce = {};
    std::uint64_t weight = all;
    std::chrono::milliseconds lease{0};
    std::uint64_t fence = 0;   ///< what enter proposes; what a renewal raises the fence to
    std::uint64_t serial = 0;  ///< of a renewal

    auto operator<=>(const Request&) const = default;
};

/// What is wrong with a node on purpose.
enum class Lapse : std::uint8_t {
    none,
    counts_at_once,         ///< it does not wait though it may have forgotten
    leaves_no_tombstone,    ///< so an enter that comes late finds nothing
    takes_any_fence,        ///< however far ahead of its clock
    renews_what_is_gone,    ///< re-creates
    forgets_fence_of_gone,  ///< with the last holder
};

/// A node as its scripts will make it, for one resource: what Redis keeps, and what it answers.
/// Nothing is done in the background; what is over ends when the next request comes.
class Node {
public:
    struct Marker {
        int run = 0;
        Wall since{0};
        auto operator<=>(const Marker&) const = default;
    };
    struct Holder {
        Nonce nonce;
        std::uint64_t weight = 0;
        std::uint64_t fence = 0;
        Wall lease_end{0};
        std::uint64_t serial = 0;
        auto operator<=>(const Holder&) const = default;
    };
    /// What a restart may keep, or part of it.
    struct Memory {
        Marker marker = {};
        std::uint64_t last_fence = 0;
        std::vector<Holder> holders = {};
        std::vector<Nonce> withdrawn = {};
        auto operator<=>(const Memory&) const = default;
    };

    /// Marked as one of a set that is new, so that it counts at once.
    Node(redlock::Terms terms, Lapse lapse);

    redlock::Vote answer(const Request& request, Wall now);
    /// Another run, which has read what is left, and is asked at once: one that nobody asks for a
    /// while is one that restarts later.
    void restart(Memory kept, Wall now);

    // What happens by itself, for those who compare nodes: it changes no answer.

    void end_what_is_over(Wall now);
    /// Nothing of it can come any more.
    void forget_tombstone_of(const Nonce& nonce);

    bool has(const Nonce& nonce) const;
    bool has_tombstone_of(const Nonce& nonce) const;

    const Memory& memory() const noexcept { return memory_; }
    int run() const noexcept { return run_; }

    auto operator<=>(const Node&) const = default;

private:
    redlock::Vote enter(const Request& request, Wall now);
    redlock::Vote renew(const Request& request, Wall now);
    redlock::Vote leave(const Request& request);
    redlock::Vote admit(const Request& request, Wall now);
    void extend(Holder& one, const Request& request, Wall now);
    void withdraw(const Nonce& nonce);
    void plant_marker_anew(Wall now);
    std::optional<Wall> forgetful_until(Wall now) const;
    /// When nodes are marked that count at once.
    Wall long_ago() const;
    Holder* find(const Nonce& nonce);
    bool has_room(std::uint64_t weight) const;

    redlock::Terms terms_;
    Lapse lapse_;
    int run_ = 1;
    Memory memory_;
};

}  // namespace holdfast::exploration
