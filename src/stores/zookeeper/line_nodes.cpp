#include "stores/zookeeper/line_nodes.hpp"

#include <algorithm>
#include <array>
#include <charconv>

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
    if (line.empty()) return line;
    // Distances from any one of them: all that are there at one time are far less than half the
    // circle apart.
    const auto origin = static_cast<std::uint32_t>(line.front().order);
    const auto distance = [origin](const Neighbour& one) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(one.order) - origin);
    };
    std::ranges::sort(line, {}, distance);
    return line;
}

std::vector<Neighbour> line_by(const Reply& listed, std::string_view path) {
    return listed.ok() ? line_in(path, listed.children()) : std::vector<Neighbour>{};
}

}  // namespace holdfast::inline v0::zookeeper
