#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "port/contender.hpp"

namespace holdfast::inline v0::listed {

/// As 8-4-4-4-12 hexadecimal digits.
std::string uuid_of(const Nonce& nonce);
std::optional<Nonce> nonce_of(std::string_view uuid);

inline constexpr std::size_t uuid_size = 36;

}  // namespace holdfast::inline v0::listed
