#include "stores/scripted/words.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace holdfast::inline v0::scripted {

namespace {

constexpr std::string_view lower_digits = "0123456789abcdef";

constexpr std::string_view text_of(Digits digits) {
    return digits == Digits::lower ? lower_digits : "0123456789ABCDEF";
}

constexpr auto themselves = [] {
    std::array<bool, 256> table{};
    for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = true;
    for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = true;
    for (unsigned char c = '0'; c <= '9'; ++c) table[c] = true;
    for (const char c : {'.', '_', '-', '/', ':'}) table[static_cast<unsigned char>(c)] = true;
    return table;
}();

bool stands_for_itself(char c) {
    return themselves[static_cast<unsigned char>(c)];
}

char* write_byte(unsigned byte, std::string_view digits, char* to) {
    *to++ = digits[byte >> 4U];
    *to++ = digits[byte & 0xfU];
    return to;
}

/// Of the two digits at this place.
std::optional<unsigned> byte_at(std::string_view text, std::size_t place, std::string_view digits) {
    if (place + 2 > text.size()) return std::nullopt;
    const auto high = digits.find(text[place]);
    const auto low = digits.find(text[place + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    return static_cast<unsigned>(high << 4U | low);
}

}  // namespace

void append_escaped(std::string_view name, Digits digits, std::string& text) {
    // Most names have nothing to escape.
    const auto first = std::ranges::find_if_not(name, stands_for_itself);
    text.append(name.begin(), first);
    for (const char c : std::string_view(first, name.end())) {
        if (stands_for_itself(c)) {
            text += c;
            continue;
        }
        std::array<char, 3> escape{'%'};
        write_byte(static_cast<unsigned char>(c), text_of(digits), &escape[1]);
        text.append(escape.data(), escape.size());
    }
}

std::string escaped(std::string_view name, Digits digits) {
    std::string text;
    text.reserve(name.size());
    append_escaped(name, digits, text);
    return text;
}

std::optional<std::string> unescaped(std::string_view text, Digits digits) {
    std::string name;
    name.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (stands_for_itself(text[i])) {
            name += text[i];
            continue;
        }
        const auto byte = byte_at(text, i + 1, text_of(digits));
        if (text[i] != '%' || !byte) return std::nullopt;
        name += static_cast<char>(*byte);
        i += 2;
    }
    return name;
}

std::string hex_of(std::string_view bytes) {
    std::string hex(2 * bytes.size(), '\0');
    char* to = hex.data();
    for (const char byte : bytes)
        to = write_byte(static_cast<unsigned char>(byte), lower_digits, to);
    return hex;
}

std::optional<std::string> from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const auto byte = byte_at(hex, i, lower_digits);
        if (!byte) return std::nullopt;
        bytes += static_cast<char>(*byte);
    }
    return bytes;
}

char* write_hex(const Nonce& nonce, char* to) {
    for (const std::byte byte : nonce.bytes) {
        to = write_byte(std::to_integer<unsigned>(byte), lower_digits, to);
    }
    return to;
}

std::string hex_of(const Nonce& nonce) {
    std::string hex(2 * nonce.bytes.size(), '\0');
    write_hex(nonce, hex.data());
    return hex;
}

std::optional<Nonce> nonce_of(std::string_view hex) {
    Nonce nonce;
    if (hex.size() != 2 * nonce.bytes.size()) return std::nullopt;
    for (std::size_t i = 0; i < nonce.bytes.size(); ++i) {
        const auto byte = byte_at(hex, 2 * i, lower_digits);
        if (!byte) return std::nullopt;
        nonce.bytes[i] = static_cast<std::byte>(*byte);
    }
    return nonce;
}

std::string random_client() {
    Nonce random;
    if (getentropy(random.bytes.data(), random.bytes.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return hex_of(random);
}

}  // namespace holdfast::inline v0::scripted
