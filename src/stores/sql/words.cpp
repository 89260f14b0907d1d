#include "stores/sql/words.hpp"

#include <sys/random.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace holdfast::inline v0::sql {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool stands_for_itself(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:").find(c) != std::string_view::npos;
}

void append_hex(unsigned byte, std::string& text) {
    text += digits[byte >> 4U];
    text += digits[byte & 0xfU];
}

/// Of the two digits at this place.
std::optional<unsigned> byte_at(std::string_view text, std::size_t place) {
    if (place + 2 > text.size()) return std::nullopt;
    const auto high = digits.find(text[place]);
    const auto low = digits.find(text[place + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    return static_cast<unsigned>(high << 4U | low);
}

}  // namespace

std::string escaped(std::string_view name) {
    std::string text;
    text.reserve(name.size());
    for (const char c : name) {
        if (stands_for_itself(c)) {
            text += c;
        } else {
            text += '%';
            append_hex(static_cast<unsigned char>(c), text);
        }
    }
    return text;
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string name;
    name.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (stands_for_itself(text[i])) {
            name += text[i];
            continue;
        }
        const auto byte = byte_at(text, i + 1);
        if (text[i] != '%' || !byte) return std::nullopt;
        name += static_cast<char>(*byte);
        i += 2;
    }
    return name;
}

std::string hex_of(std::string_view bytes) {
    std::string hex;
    hex.reserve(2 * bytes.size());
    for (const char byte : bytes) append_hex(static_cast<unsigned char>(byte), hex);
    return hex;
}

std::optional<std::string> from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const auto byte = byte_at(hex, i);
        if (!byte) return std::nullopt;
        bytes += static_cast<char>(*byte);
    }
    return bytes;
}

std::string hex_of(const Nonce& nonce) {
    std::string hex;
    hex.reserve(2 * nonce.bytes.size());
    for (const std::byte byte : nonce.bytes) append_hex(std::to_integer<unsigned>(byte), hex);
    return hex;
}

std::optional<Nonce> nonce_of(std::string_view hex) {
    Nonce nonce;
    if (hex.size() != 2 * nonce.bytes.size()) return std::nullopt;
    for (std::size_t i = 0; i < nonce.bytes.size(); ++i) {
        const auto byte = byte_at(hex, 2 * i);
        if (!byte) return std::nullopt;
        nonce.bytes[i] = static_cast<std::byte>(*byte);
    }
    return nonce;
}

Nonce random_nonce() {
    Nonce random;
    if (getentropy(random.bytes.data(), random.bytes.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return random;
}

}  // namespace holdfast::inline v0::sql
