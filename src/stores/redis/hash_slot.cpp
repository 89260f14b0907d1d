#include "stores/redis/hash_slot.hpp"

#include <array>
#include <cstddef>

namespace holdfast::inline v0::redis {

namespace {

/// The remainders of CRC-16/XMODEM, by which the servers count.
constexpr std::array<std::uint16_t, 256> remainders() {
    std::array<std::uint16_t, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte) {
        unsigned remainder = static_cast<unsigned>(byte) << 8U;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder << 1U) ^ ((remainder & 0x8000U) != 0 ? 0x1021U : 0U);
        }
        table[byte] = static_cast<std::uint16_t>(remainder);
    }
    return table;
}

std::uint16_t crc16(std::string_view bytes) {
    static constexpr auto table = remainders();
    unsigned crc = 0;
    for (const char c : bytes) {
        crc = ((crc << 8U) & 0xffffU) ^ table[(crc >> 8U) ^ static_cast<unsigned char>(c)];
    }
    return static_cast<std::uint16_t>(crc);
}

std::string_view tag_of(std::string_view key) {
    const std::size_t open = key.find('{');
    if (open == std::string_view::npos) return key;
    const std::size_t close = key.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1) return key;
    return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t hash_slot_of(std::string_view key) {
    return crc16(tag_of(key)) % hash_slots;
}

}  // namespace holdfast::inline v0::redis
