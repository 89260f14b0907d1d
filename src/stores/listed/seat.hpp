#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "port/contender.hpp"

namespace holdfast::inline v0::listed {

/// A contender as the list of its line tells it, ours or another one's.
struct Seat {
    std::string node;        ///< a node's name, or a key
    std::int64_t order = 0;  ///< the store's own number
    std::uint64_t weight = all;
    std::uint64_t capacity = all;
    /// Of one that has it in its name.
    std::optional<Nonce> nonce = std::nullopt;
};

}  // namespace holdfast::inline v0::listed
