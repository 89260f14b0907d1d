#include "stores/zookeeper/line_nodes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "stores/listed/note.hpp"
#include "stores/zookeeper/node_path.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using listed::uuid_size;

constexpr std::string_view protection = "_c_";
constexpr std::string_view permit = "-permit-";
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

/// "...-permit-K-of-N-lock-SEQUENCE"
void read_permit(std::string_view node, Neighbour& neighbour) {
    const auto start = node.rfind(permit);
    if (start == std::string_view::npos) return;
    const auto share = node.substr(start + permit.size());
    const auto of = share.find("-of-");
    const auto end = share.find("-lock-");
    if (of == std::string_view::npos || end == std::string_view::npos || end < of) return;
    const auto weight = number_in<std::uint64_t>(share.substr(0, of));
    const auto capacity = number_in<std::uint64_t>(share.substr(of + 4, end - of - 4));
    if (!weight || !capacity || *weight == 0 || *weight > *capacity || *capacity > all) return;
    neighbour.weight = *weight;
    neighbour.capacity = *capacity;
}

std::uint32_t on_circle(const Neighbour& one) {
    return static_cast<std::uint32_t>(one.order);
}

/// Numbers go round a circle. All that are there at one time are close to each other on it, so the
/// line begins behind the widest gap: whatever somebody else has put there, and in whatever order
/// the server lists them, all who see the same nodes see them in one order.
void put_in_order(std::vector<Neighbour>& line) {
    if (line.empty()) return;
    std::ranges::sort(line, [](const Neighbour& left, const Neighbour& right) {
        return std::pair(on_circle(left), std::string_view(left.node)) <
               std::pair(on_circle(right), std::string_view(right.node));
    });
    auto first = line.begin();
    // Of the first, to the last on the other side of nought. A line of one has a whole circle.
    std::uint32_t widest = on_circle(line.front()) - on_circle(line.back()) - 1;
    for (auto one = std::next(line.begin()); one != line.end(); ++one) {
        const std::uint32_t gap = on_circle(*one) - on_circle(*std::prev(one)) - 1;
        // Of those that have one number there is no gap between: that wraps.
        if (on_circle(*one) == on_circle(*std::prev(one)) || gap <= widest) continue;
        widest = gap;
        first = one;
    }
    std::rotate(line.begin(), first, line.end());
}

}  // namespace

std::optional<Neighbour> neighbour_of(std::string_view name) {
    for (const Mark& mark : marks) {
        const auto place = name.rfind(mark.text);
        if (place == std::string_view::npos) continue;
        const auto text = name.substr(place + mark.text.size());
        const auto sequence = number_in<std::int32_t>(text);
        if (!sequence || text.size() < shortest_sequence) continue;
        Neighbour neighbour{.node = std::string(name), .order = *sequence, .weight = mark.weight};
        if (mark.text == "lock-") read_permit(name, neighbour);
        if (name.starts_with(protection) && name.size() > protection.size() + uuid_size) {
            neighbour.nonce = listed::nonce_of(name.substr(protection.size(), uuid_size));
        }
        return neighbour;
    }
    return std::nullopt;
}

std::string name_start(const Nonce& nonce) {
    return std::string(protection) + listed::uuid_of(nonce) + "-";
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

std::vector<Neighbour> line_in(std::string_view path, const std::vector<std::string>& children) {
    std::vector<Neighbour> line;
    for (const std::string& child : children) {
        auto neighbour = neighbour_of(child);
        if (!neighbour) continue;
        neighbour->node = below(path, child);
        line.push_back(*std::move(neighbour));
    }
    put_in_order(line);
    return line;
}

std::vector<Neighbour> line_by(const Reply& listed, std::string_view path) {
    return listed.ok() ? line_in(path, listed.children()) : std::vector<Neighbour>{};
}

}  // namespace holdfast::inline v0::zookeeper
