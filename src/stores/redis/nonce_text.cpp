#include "stores/redis/nonce_text.hpp"

namespace holdfast::inline v0::redis {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

char* write_hex(const Nonce& nonce, char* to) {
    for (const std::byte byte : nonce.bytes) {
        *to++ = hex_digits[std::to_integer<unsigned>(byte) >> 4U];
        *to++ = hex_digits[std::to_integer<unsigned>(byte) & 0xfU];
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
        const auto high = hex_digits.find(hex[2 * i]);
        const auto low = hex_digits.find(hex[2 * i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        nonce.bytes[i] = static_cast<std::byte>(high << 4U | low);
    }
    return nonce;
}

}  // namespace holdfast::inline v0::redis
