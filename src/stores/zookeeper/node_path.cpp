#include "stores/zookeeper/node_path.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast::inline v0::zookeeper {

namespace {

/// Sorts above all digits and letters: a part that begins with it stands behind every contender
/// wherever others sort by whole names.
constexpr char escape = '~';
constexpr std::string_view digits = "0123456789ABCDEF";

/// What the recipes of others look for in the name of a contender.
constexpr std::array<std::string_view, 5> foreign_marks{"lock-", "__lock__", "__rlock__",
                                                        "__READ__", "__WRIT__"};

void append_escaped(std::string& text, char c) {
    const auto byte = static_cast<unsigned char>(c);
    text += escape;
    text += digits[byte >> 4U];
    text += digits[byte & 0xfU];
}

/// How many bytes of UTF-8 begin here that a server takes for a node's name; none when there is
/// something else. It counts in units of 16 bits, and refuses halves of pairs among them, so beyond
/// U+FFFF everything.
std::size_t allowed_here(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i) {
        return i < text.size() && (byte(i) & 0xc0U) == 0x80U;
    };
    if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f && text[0] != escape ? 1 : 0;
    if ((byte(0) & 0xe0U) == 0xc0U && continues(1)) {
        const std::uint32_t point = (byte(0) & 0x1fU) << 6U | (byte(1) & 0x3fU);
        return point >= 0xa0 ? 2 : 0;
    }
    if ((byte(0) & 0xf0U) == 0xe0U && continues(1) && continues(2)) {
        const std::uint32_t point =
            (byte(0) & 0x0fU) << 12U | (byte(1) & 0x3fU) << 6U | (byte(2) & 0x3fU);
        const bool plain = point >= 0x800 && point < 0xd800;
        return plain || (point >= 0xf900 && point < 0xfff0) ? 3 : 0;
    }
    return 0;
}

/// Whether others, who sort by whole names where they find no mark, would take it for a contender
/// ahead of theirs: it sorts before ten digits, or among them. What begins with another digit than
/// nought, and not with ten, does so only when a line has seen a thousand million contenders; it
/// stays as it is, for names like "orders/1" are others' too.
bool passes_for_a_number(std::string_view part) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool ten_digits = part.size() >= 10 && std::ranges::all_of(part.substr(0, 10), digit);
    return part < "0000000000" || part.front() == '0' || ten_digits;
}

/// Whether one of the marks of others begins here.
bool is_mark(std::string_view text) {
    return std::ranges::any_of(foreign_marks, [&](auto mark) { return text.starts_with(mark); });
}

enum class Depth : std::uint8_t { top, first, nested };

std::string escaped(std::string_view part, Depth depth) {
    if (part.empty()) return std::string(1, escape);
    const bool dots = part == "." || part == "..";
    // Where the server keeps its own.
    const bool reserved = depth == Depth::top && part == "zookeeper";
    const bool nested = depth == Depth::nested;
    const bool first_escaped = reserved || (nested && passes_for_a_number(part));
    std::string text;
    for (std::size_t i = 0; i < part.size();) {
        const std::size_t size = allowed_here(part.substr(i));
        const bool hidden = (i == 0 && first_escaped) || (nested && is_mark(part.substr(i)));
        if (size == 0 || dots || hidden) {
            append_escaped(text, part[i++]);
        } else {
            text += part.substr(i, size);
            i += size;
        }
    }
    return text;
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string part;
    if (text == std::string_view(&escape, 1)) return part;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != escape) {
            part += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const auto high = digits.find(text[i + 1]);
        const auto low = digits.find(text[i + 2]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        part += static_cast<char>(high << 4U | low);
        i += 2;
    }
    return part;
}

/// Calls `each(part, number)` for what is between slashes.
template <class Each>
void for_parts(std::string_view text, Each each) {
    for (std::size_t number = 0;; ++number) {
        const auto slash = text.find('/');
        each(text.substr(0, slash), number);
        if (slash == std::string_view::npos) return;
        text.remove_prefix(slash + 1);
    }
}

}  // namespace

std::string Paths::of(std::string_view resource) const {
    std::string path = chroot_;
    for_parts(resource, [&](std::string_view part, std::size_t number) {
        const Depth first = chroot_.empty() ? Depth::top : Depth::first;
        path += '/';
        path += escaped(part, number == 0 ? first : Depth::nested);
    });
    return path;
}

std::optional<std::string> Paths::resource_of(std::string_view path) const {
    if (!path.starts_with(chroot_) || path.size() < chroot_.size() + 2) return std::nullopt;
    std::string resource;
    bool understood = true;
    for_parts(path.substr(chroot_.size() + 1), [&](std::string_view text, std::size_t number) {
        const auto part = unescaped(text);
        if (!part) {
            understood = false;
            return;
        }
        if (number > 0) resource += '/';
        resource += *part;
    });
    // What others have made may not be the way in which we write that name.
    if (!understood || of(resource) != path) return std::nullopt;
    return resource;
}

std::vector<std::string> way_to(std::string_view path) {
    std::vector<std::string> nodes;
    for (std::size_t i = 1; i <= path.size(); ++i) {
        if (i == path.size() || path[i] == '/') nodes.emplace_back(path.substr(0, i));
    }
    return nodes;
}

std::string_view last_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

std::string parent_of(std::string_view path) {
    return std::string(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
}

std::string below(std::string_view parent, std::string_view child) {
    std::string path(parent == "/" ? "" : parent);
    path += '/';
    path += child;
    return path;
}

}  // namespace holdfast::inline v0::zookeeper
