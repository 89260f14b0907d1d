#include "stores/listed/note.hpp"

#include <algorithm>
#include <charconv>

#include "port/told_time.hpp"

namespace holdfast::inline v0::listed {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool is_dash(std::size_t place) {
    return place == 8 || place == 13 || place == 18 || place == 23;
}

constexpr std::string_view first_line = "holdfast\n";
/// Of all but the owner and the host.
constexpr std::size_t usual_size = 140;

/// A value stays on its line.
void append_on_one_line(std::string& text, std::string_view value) {
    while (!value.empty()) {
        const auto plain = std::min(value.find_first_of("\n\\"), value.size());
        text += value.substr(0, plain);
        if (plain < value.size()) text += value[plain] == '\n' ? "\\n" : "\\\\";
        value.remove_prefix(std::min(plain + 1, value.size()));
    }
}

std::string as_it_was(std::string_view text) {
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
            value += text[++i] == 'n' ? '\n' : text[i];
        } else {
            value += text[i];
        }
    }
    return value;
}

template <class Number>
Number number_in(std::string_view text) {
    Number number{};
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// "2/5". What is none stays a share of all.
void read_share(std::string_view text, Note& note) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return;
    const auto weight = number_in<std::uint64_t>(text.substr(0, slash));
    const auto capacity = number_in<std::uint64_t>(text.substr(slash + 1));
    if (weight == 0 || weight > capacity || capacity > all) return;
    note.weight = weight;
    note.capacity = capacity;
}

void read_line(std::string_view line, Note& note) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return;
    const auto key = line.substr(0, equals);
    const auto value = line.substr(equals + 1);
    if (key == "nonce") note.nonce = nonce_of(value);
    if (key == "owner") note.owner = as_it_was(value);
    if (key == "host") note.host = as_it_was(value);
    if (key == "pid") note.pid = number_in<int>(value);
    if (key == "share") read_share(value, note);
    if (key == "lease_ms")
        note.lease = told_as<std::chrono::milliseconds>(number_in<std::int64_t>(value));
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

std::string note_of(const Contender& contender) {
    std::string note;
    note.reserve(usual_size + contender.owner.size() + contender.host.size());
    note += first_line;
    note += "owner=";
    append_on_one_line(note, contender.owner);
    note += "\nhost=";
    append_on_one_line(note, contender.host);
    note.append("\npid=").append(std::to_string(contender.pid));
    note.append("\nshare=").append(std::to_string(contender.weight));
    note.append("/").append(std::to_string(contender.capacity));
    note.append("\nlease_ms=").append(std::to_string(contender.lease.count()));
    note.append("\nnonce=").append(uuid_of(contender.nonce)).append("\n");
    return note;
}

std::optional<Note> note_in(std::string_view data) {
    if (!data.starts_with(first_line)) return std::nullopt;
    Note note;
    while (!data.empty()) {
        const auto end = data.find('\n');
        read_line(data.substr(0, end), note);
        data.remove_prefix(end == std::string_view::npos ? data.size() : end + 1);
    }
    return note;
}

Place place_of(const std::string& resource, const Incarnation& incarnation, std::uint64_t weight,
               const std::string& data) {
    const auto note = note_in(data);
    const Note known = note.value_or(Note{.owner = data, .lease = std::chrono::milliseconds{-1}});
    return {.ticket = {resource, known.nonce.value_or(Nonce{}), text_of(incarnation)},
            .owner = known.owner,
            .weight = weight,
            .lease_left = known.lease,
            .host = known.host,
            .pid = known.pid,
            .foreign = !note};
}

}  // namespace holdfast::inline v0::listed
