#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace holdfast::inline v0::listed
