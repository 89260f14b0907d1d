#include "stores/zookeeper/seat.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::inline v0::zookeeper {

namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::string_view protection = "_c_";
constexpr std::string_view permit = "-permit-";
constexpr std::size_t uuid_size = 36;
/// The server writes it with ten characters at least.
constexpr std::size_t shortest_sequence = 10;

/// What stands before the sequence, and the weight of all that it means.
struct Mark {
    std::string_view text;
    std::uint64_t weight;
};
constexpr std::array marks{Mark{"__READ__", 1}, Mark{"__WRIT__", all}, Mark{"__lock__", all},
                           Mark{"__rlock__", 1}, Mark{"lock-", all}};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool is_dash(std::size_t place) {
    return place == 8 || place == 13 || place == 18 || place == 23;
}

/// "...-permit-K-of-N-lock-SEQUENCE"
void read_permit(std::string_view node, Seat& seat) {
    const auto start = node.rfind(permit);
    if (start == std::string_view::npos) return;
    const auto share = node.substr(start + permit.size());
    const auto of = share.find("-of-");
    const auto end = share.find("-lock-");
    if (of == std::string_view::npos || end == std::string_view::npos || end < of) return;
    const auto weight = number_in<std::uint64_t>(share.substr(0, of));
    const auto capacity = number_in<std::uint64_t>(share.substr(of + 4, end - of - 4));
    if (!weight || !capacity || *weight == 0 || *weight > *capacity || *capacity > all) return;
    seat.weight = *weight;
    seat.capacity = *capacity;
}

}  // namespace

std::string uuid_of(const Nonce& nonce) {
    std::string text;
    for (const std::byte byte : nonce.bytes) {
        if (is_dash(text.size())) text += '-';
        text += digits[std::to_integer<unsigned>(byte) >> 4U];
        text += digits[std::to_integer<unsigned>(byte) & 0xfU];
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

std::optional<Seat> seat_of(std::string_view node) {
    for (const Mark& mark : marks) {
        const auto place = node.rfind(mark.text);
        if (place == std::string_view::npos) continue;
        const auto text = node.substr(place + mark.text.size());
        const auto sequence = number_in<std::int32_t>(text);
        if (!sequence || text.size() < shortest_sequence) continue;
        Seat seat{.node = std::string(node), .sequence = *sequence, .weight = mark.weight};
        if (mark.text == "lock-") read_permit(node, seat);
        if (node.starts_with(protection) && node.size() > protection.size() + uuid_size) {
            seat.nonce = nonce_of(node.substr(protection.size(), uuid_size));
        }
        return seat;
    }
    return std::nullopt;
}

std::string name_start(const Nonce& nonce) {
    return std::string(protection) + uuid_of(nonce) + "-";
}

std::string node_name(const Contender& contender) {
    const std::string start = name_start(contender.nonce);
    const bool shares =
        contender.capacity != all || (contender.weight != all && contender.weight != 1);
    if (shares || contender.form == Form::permits) {
        return start + "permit-" + std::to_string(contender.weight) + "-of-" +
               std::to_string(contender.capacity) + "-lock-";
    }
    if (contender.weight == 1) return start + "__READ__";
    return start + (contender.form == Form::read_write ? "__WRIT__" : "lock-");
}

std::vector<Seat> seats_in_order(const std::vector<std::string>& children) {
    std::vector<Seat> seats;
    for (const std::string& child : children) {
        if (auto seat = seat_of(child)) seats.push_back(*std::move(seat));
    }
    if (seats.empty()) return seats;
    // Distances from any one of them: all that are there at one time are far less than half the
    // circle apart.
    const auto origin = static_cast<std::uint32_t>(seats.front().sequence);
    const auto distance = [origin](const Seat& seat) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(seat.sequence) - origin);
    };
    std::ranges::sort(seats, {}, distance);
    return seats;
}

}  // namespace holdfast::inline v0::zookeeper
