#include "stores/listed/uuid.hpp"

namespace holdfast::inline v0::listed {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool is_dash(std::size_t place) {
    return place == 8 || place == 13 || place == 18 || place == 23;
}

}  // namespace

std::string uuid_of(const Nonce& nonce) {
    std::string text(uuid_size, '-');
    std::size_t place = 0;
    for (const std::byte byte : nonce.bytes) {
        if (is_dash(place)) ++place;
        text[place++] = digits[std::to_integer<unsigned>(byte) >> 4U];
        text[place++] = digits[std::to_integer<unsigned>(byte) & 0xfU];
    }
    return text;
}

std::optional<Nonce> nonce_of(std::string_view uuid) {
    if (uuid.size() != uuid_size) return std::nullopt;
    Nonce nonce;
    std::size_t half = 0;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (is_dash(i)) {
            if (uuid[i] != '-') return std::nullopt;
            continue;
        }
        const auto value = digits.find(uuid[i]);
        if (value == std::string_view::npos) return std::nullopt;
        auto& byte = nonce.bytes[half++ / 2];
        byte = byte << 4U | static_cast<std::byte>(value);
    }
    return nonce;
}

}  // namespace holdfast::inline v0::listed
