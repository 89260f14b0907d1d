#include "stores/etcd/line_keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

/// As Go prints it: a lease is never negative.
void append_hexadecimal(std::string& text, std::uint64_t number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
    text.append(digits.data(), end.ptr);
}

/// As long as what stands behind the name usually is.
constexpr std::size_t rest_of_key = 24;

bool is_hexadecimal(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string line_start(std::string_view resource) {
    std::string start;
    start.reserve(resource.size() + rest_of_key);
    return start.append(resource).append("/");
}

std::string key_of(std::string_view resource, std::int64_t lease, std::uint64_t slot) {
    std::string key = line_start(resource);
    append_hexadecimal(key, static_cast<std::uint64_t>(lease));
    key += '-';
    append_hexadecimal(key, slot);
    return key;
}

std::string guard_of(std::string_view resource, const Nonce& nonce) {
    std::string key;
    key.reserve(resource.size() + 2 + listed::uuid_size);
    return key.append(resource).append("!/").append(listed::uuid_of(nonce));
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

std::optional<Neighbour> neighbour_of(const messages::KeyValue& pair, std::string_view start) {
    const std::string_view key = pair.key();
    if (!key.starts_with(start) || pair.lease() == 0) return std::nullopt;
    const std::string_view name = key.substr(start.size());
    Neighbour neighbour{.node = pair.key(), .order = pair.create_revision()};
    // Exclusive, whatever its value.
    std::string theirs;
    append_hexadecimal(theirs, static_cast<std::uint64_t>(pair.lease()));
    if (name == theirs) return neighbour;
    const auto dash = name.find('-');
    const auto note = listed::note_in(pair.value());
    if (dash == std::string_view::npos || !note) return std::nullopt;
    if (!is_hexadecimal(name.substr(0, dash)) || !is_hexadecimal(name.substr(dash + 1))) {
        return std::nullopt;
    }
    neighbour.nonce = note->nonce;
    neighbour.weight = note->weight;
    neighbour.capacity = note->capacity;
    return neighbour;
}

std::vector<Neighbour> line_in(const Pairs& pairs, std::string_view start) {
    std::vector<Neighbour> line;
    for (const messages::KeyValue& pair : pairs) {
        if (auto neighbour = neighbour_of(pair, start)) line.push_back(*std::move(neighbour));
    }
    // Several that came in one transaction have one revision, and are ordered by their keys then.
    std::ranges::sort(line, [](const Neighbour& left, const Neighbour& right) {
        return std::tie(left.order, left.node) < std::tie(right.order, right.node);
    });
    return line;
}

std::uint64_t Slots::take(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto [place, is_new] = taken_.try_emplace(nonce, 0);
    if (!is_new) return place->second;
    place->second = free_.empty() ? next_++ : free_.extract(free_.begin()).value();
    return place->second;
}

void Slots::give_back(const Nonce& nonce) {
    if (const auto number = retire(nonce)) free(*number);
}

std::optional<std::uint64_t> Slots::retire(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto taken = taken_.extract(nonce);
    return taken ? std::optional(taken.mapped()) : std::nullopt;
}

void Slots::free(std::uint64_t number) {
    const std::lock_guard guard(mutex_);
    free_.insert(number);
}

}  // namespace holdfast::inline v0::etcd
