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

/// Two hexadecimal digits for each byte, in lower case.
std::string hex_of(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view hex);

std::string hex_of(const Nonce& nonce);
std::optional<Nonce> nonce_of(std::string_view hex);

/// Of a client, for ever another one.
Nonce random_nonce();

}  // namespace holdfast::inline v0::sql
