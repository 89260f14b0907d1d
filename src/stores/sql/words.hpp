#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "port/contender.hpp"

/// Text in columns is ASCII alone, so that no encoding or collation of a database changes it.
namespace holdfast::inline v0::sql {

/// Letters, digits and ._-/: as they are, every other byte as %XX: so two names never meet, and a
/// prefix of a name is one of its text.
std::string escaped(std::string_view name);
/// Nothing when that is no such text.
std::optional<std::string> unescaped(std::string_view text);

/// 32 hexadecimal digits.
std::string hex_of(const Nonce& nonce);
std::optional<Nonce> nonce_of(std::string_view hex);

/// Of a client, for ever another one.
Nonce random_nonce();

}  // namespace holdfast::inline v0::sql
