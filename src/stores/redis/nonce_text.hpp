#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "port/contender.hpp"

namespace holdfast::inline v0::redis {

/// 32 hexadecimal digits.
std::string hex_of(const Nonce& nonce);
/// Writes them where there is room for them; the end of what was written.
char* write_hex(const Nonce& nonce, char* to);
std::optional<Nonce> nonce_of(std::string_view hex);

}  // namespace holdfast::inline v0::redis
