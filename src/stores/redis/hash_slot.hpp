#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::inline v0::redis {

/// Of a Redis Cluster: each key is in one of so many hash slots, and each of them on one node.
inline constexpr std::uint16_t hash_slots = 16'384;

/// That of a key: of what stands in its first braces, if anything does, so that keys with the same
/// in them are together.
std::uint16_t hash_slot_of(std::string_view key);

}  // namespace holdfast::inline v0::redis
