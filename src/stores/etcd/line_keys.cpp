#include "stores/etcd/line_keys.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "stores/listed/note.hpp"
#include "stores/listed/uuid.hpp"

namespace holdfast::inline v0::etcd {

namespace {

/// As Go prints it: a lease is never negative.
std::string hexadecimal(std::uint64_t number) {
    std::string text(16, '\0');
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16);
    text.resize(static_cast<std::size_t>(end.ptr - text.data()));
    return text;
}

bool is_hexadecimal(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string line_start(std::string_view resource) {
    return std::string(resource) + "/";
}

std::string key_of(std::string_view resource, std::int64_t lease, std::uint64_t slot) {
    return line_start(resource) + hexadecimal(static_cast<std::uint64_t>(lease)) + "-" +
           hexadecimal(slot);
}

std::string guard_of(std::string_view resource, const Nonce& nonce) {
    return std::string(resource) + "!/" + listed::uuid_of(nonce);
}

std::optional<std::string> resource_of(std::string_view key) {
    const auto slash = key.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    return std::string(key.substr(0, slash));
}

std::string end_of(std::string start) {
    while (!start.empty() && start.back() == '\xff') start.pop_back();
    // All that there is.
    if (start.empty()) return std::string(1, '\0');
    ++start.back();
    return start;
}

std::optional<Seat> seat_of(const messages::KeyValue& pair, std::string_view start) {
    const std::string_view key = pair.key();
    if (!key.starts_with(start) || pair.lease() == 0) return std::nullopt;
    const std::string_view name = key.substr(start.size());
    Seat seat{.node = pair.key(), .order = pair.create_revision()};
    // Theirs: exclusive, whatever its value.
    if (name == hexadecimal(static_cast<std::uint64_t>(pair.lease()))) return seat;
    const auto dash = name.find('-');
    const auto note = listed::note_in(pair.value());
    if (dash == std::string_view::npos || !note) return std::nullopt;
    if (!is_hexadecimal(name.substr(0, dash)) || !is_hexadecimal(name.substr(dash + 1))) {
        return std::nullopt;
    }
    seat.nonce = note->nonce;
    seat.weight = note->weight;
    seat.capacity = note->capacity;
    return seat;
}

std::vector<Seat> seats_in(const Pairs& pairs, std::string_view start) {
    std::vector<Seat> seats;
    for (const messages::KeyValue& pair : pairs) {
        if (auto seat = seat_of(pair, start)) seats.push_back(*std::move(seat));
    }
    // Several that came in one transaction have one revision, and are ordered by their keys then.
    std::ranges::sort(seats, [](const Seat& left, const Seat& right) {
        return std::tie(left.order, left.node) < std::tie(right.order, right.node);
    });
    return seats;
}

}  // namespace holdfast::inline v0::etcd
