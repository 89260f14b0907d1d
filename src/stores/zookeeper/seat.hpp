#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"

namespace holdfast::inline v0::zookeeper {

/// A contender as the name of its node tells it: ours, Curator's or kazoo's.
struct Seat {
    std::string node;
    std::int32_t sequence = 0;
    std::uint64_t weight = all;
    std::uint64_t capacity = all;
    /// Whose name has one. Ours has, and so has Curator's, which is not ours all the same.
    std::optional<Nonce> nonce = std::nullopt;
};

/// Nothing when it is no contender's.
std::optional<Seat> seat_of(std::string_view node);

/// The name that we ask for; the server adds the sequence.
std::string node_name(const Contender& contender);
/// What all names of this contender begin with.
std::string name_start(const Nonce& nonce);

/// As 8-4-4-4-12 hexadecimal digits.
std::string uuid_of(const Nonce& nonce);
std::optional<Nonce> nonce_of(std::string_view uuid);

/// The contenders among the children of a resource, in the order of the line. Others are left out.
/// The sequence may have wrapped: after 2147483647 comes -2147483648.
std::vector<Seat> seats_in_order(const std::vector<std::string>& children);

}  // namespace holdfast::inline v0::zookeeper
