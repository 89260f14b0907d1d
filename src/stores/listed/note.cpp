#include "stores/listed/note.hpp"

#include <charconv>

#include "stores/listed/uuid.hpp"

namespace holdfast::inline v0::listed {

namespace {

constexpr std::string_view first_line = "holdfast\n";
/// Of all but the owner and the host.
constexpr std::size_t usual_size = 140;

/// A value stays on its line.
std::string on_one_line(std::string_view value) {
    std::string text;
    text.reserve(value.size());
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
        } else if (c == '\\') {
            text += "\\\\";
        } else {
            text += c;
        }
    }
    return text;
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
    if (key == "lease_ms") note.lease = std::chrono::milliseconds{number_in<std::int64_t>(value)};
}

}  // namespace

std::string note_of(const Contender& contender) {
    std::string note;
    note.reserve(usual_size + contender.owner.size() + contender.host.size());
    note += first_line;
    note += "owner=" + on_one_line(contender.owner);
    note += "\nhost=" + on_one_line(contender.host);
    note += "\npid=" + std::to_string(contender.pid);
    note +=
        "\nshare=" + std::to_string(contender.weight) + "/" + std::to_string(contender.capacity);
    note += "\nlease_ms=" + std::to_string(contender.lease.count());
    note += "\nnonce=" + uuid_of(contender.nonce) + "\n";
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

}  // namespace holdfast::inline v0::listed
