#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "port/contender.hpp"
#include "stores/listed/entrants.hpp"

namespace holdfast::inline v0::listed {

/// A nonce as 8-4-4-4-12 hexadecimal digits, which names, keys and notes have in them.
std::string uuid_of(const Nonce& nonce);
std::optional<Nonce> nonce_of(std::string_view uuid);

inline constexpr std::size_t uuid_size = 36;

/// What is written into a contender's node or key, for people and listings: lines of `key=value`.
struct Note {
    std::optional<Nonce> nonce = std::nullopt;
    std::string owner = {};
    std::string host = {};
    int pid = 0;
    std::chrono::milliseconds lease{0};
    std::uint64_t weight = all;
    std::uint64_t capacity = all;
};

std::string note_of(const Contender& contender);
/// Nothing when it is not ours.
std::optional<Note> note_in(std::string_view data);

/// A contender in a listing, as its node has it; a foreign one's is all taken for its owner. How
/// much of its lease is left is as much as it asked for.
Place place_of(const std::string& resource, const Incarnation& incarnation, std::uint64_t weight,
               const std::string& data);

}  // namespace holdfast::inline v0::listed
