#pragma once

#include <cctype>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// MessagePack, as scripts of ours keep values in Redis.
namespace holdfast::test {

using std::string_literals::operator""s;

inline std::string big_endian(std::uint64_t number) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes += static_cast<char>(number >> shift & 0xffU);
    return bytes;
}
inline std::string packed(std::int64_t number) {
    return "\xd3" + big_endian(static_cast<std::uint64_t>(number));
}
inline std::string packed(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return "\xcb" + big_endian(bits);
}
inline std::string packed(const std::string& text) {
    return "\xda" + big_endian(text.size()).substr(6) + text;
}
inline std::string joined(const std::vector<std::string>& parts) {
    std::string whole;
    for (const auto& part : parts) whole += part;
    return whole;
}

/// In place of a number.
inline std::vector<std::string> packed_edges() {
    using Double = std::numeric_limits<double>;
    return {packed(std::int64_t{-1}),
            packed(std::int64_t{-1'000'000'000}),
            packed(std::int64_t{1} << 53U),
            packed(std::numeric_limits<std::int64_t>::min()),
            packed(Double::quiet_NaN()),
            packed(Double::infinity()),
            packed("x"s),
            "\xc0"s,       // nothing
            "\x91\x01"s};  // an array
}

/// Its beginning, for people.
inline std::string shown(std::string_view bytes) {
    std::string text;
    for (const char c : bytes.substr(0, 110)) {
        text += std::isprint(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : "?";
    }
    return text;
}

}  // namespace holdfast::test
