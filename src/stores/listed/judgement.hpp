#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"

namespace holdfast::inline v0::listed {

/// A contender as the list of its line tells it, ours or another one's.
struct Neighbour {
    std::string node;        ///< its node with the whole path, or its key
    std::int64_t order = 0;  ///< the store's own number
    std::uint64_t weight = all;
    std::uint64_t capacity = all;
    /// Of one that the list tells it of.
    std::optional<Nonce> nonce = std::nullopt;
};

/// Where a contender stands in a line that was listed after it had come into it.
struct Judgement {
    enum class Verdict : std::uint8_t {
        absent,  ///< it is not there
        admitted,
        waits,
        conflict,  ///< whoever is admitted uses the resource with another capacity
    };
    Verdict verdict = Verdict::absent;
    /// Of one that waits: the nodes whose end, or change, may bring it further. Nobody comes into a
    /// line ahead of others, so all else may happen unseen. Of a conflict: the nearest ahead that
    /// disagrees.
    std::vector<std::string> watched = {};
    /// Those nodes bring it further also by being written: whoever is admitted says so like that.
    /// Else by their end alone.
    bool by_change = false;
    /// Of one that waits, or is in conflict: as long as this one is there, it is not the first; and
    /// in a conflict, whoever is the first disagrees with it.
    Neighbour barred_by = {};
    /// The one that is watched is the only one ahead: its end is the admission.
    bool next = false;
    /// Of a conflict.
    std::uint64_t capacity_ahead = 0;
};

/// The first of a line decides what the resource is like: it is admitted, or will be when it looks.
/// Whoever disagrees with it leaves again, but only while it is not the first itself: nobody is
/// refused for the sake of one that is about to leave. So of two that disagree it is the later one
/// that is refused; also when it was told to wait before the other one came to the front. Those
/// behind one that disagrees wait until it has left, and are not admitted past it, since it may
/// have come to the front before it looked.
Judgement judge(std::span<const Neighbour> line, std::string_view node);

/// Where one that is not in the line would stand if it came in now.
Judgement judge_newcomer(std::span<const Neighbour> line, const Contender& contender);

/// Where a contender stands in the list of its line, ours or another one's.
Standing::State state_in(std::span<const Neighbour> line, std::string_view node);

/// How many from the front are admitted. Those that disagree on the capacity are about to leave.
std::size_t admitted_in(std::span<const Neighbour> line);

}  // namespace holdfast::inline v0::listed
