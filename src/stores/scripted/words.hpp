#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "port/contender.hpp"

/// Names and nonces as the text of keys and columns: ASCII alone, so that no encoding, collation or
/// pattern of a server changes it.
namespace holdfast::inline v0::scripted {

/// The case of the digits in an escaped name. Each layout has had its own from the start.
enum class Digits : std::uint8_t { lower, upper };

/// Letters, digits and ._-/: as they are, every other byte as % and two hexadecimal digits: so two
/// names never meet, a prefix of a name is one of its text, and no text has a brace or a star.
std::string escaped(std::string_view name, Digits digits);
void append_escaped(std::string_view name, Digits digits, std::string& text);
/// The name that this is the text of; nothing when there is none.
std::optional<std::string> unescaped(std::string_view text, Digits digits);

/// Two hexadecimal digits for each byte, in lower case.
std::string hex_of(std::string_view bytes);
/// The bytes of such digits; nothing when these are others.
std::optional<std::string> from_hex(std::string_view hex);

/// The 32 hexadecimal digits of a nonce.
std::string hex_of(const Nonce& nonce);
/// Writes them where there is room for them; the end of what was written.
char* write_hex(const Nonce& nonce, char* to);
/// The nonce with these digits; nothing when they are no nonce's.
std::optional<Nonce> nonce_of(std::string_view hex);

/// The name of a client, to those who tell its waiters: never given to two clients.
std::string random_client();

}  // namespace holdfast::inline v0::scripted
