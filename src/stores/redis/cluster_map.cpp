#include "stores/redis/cluster_map.hpp"

#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "stores/redis/hash_slot.hpp"

namespace holdfast::inline v0::redis {

namespace {

/// In what CLUSTER INFO answers: lines "name:value".
std::optional<std::uint64_t> epoch_in(std::string_view info) {
    constexpr std::string_view name = "cluster_current_epoch:";
    const std::size_t found = info.find(name);
    if (found == std::string_view::npos) return std::nullopt;
    std::uint64_t epoch = 0;
    const char* const digits = info.data() + found + name.size();
    const auto error = std::from_chars(digits, info.data() + info.size(), epoch).ec;
    return error == std::errc{} ? std::optional(epoch) : std::nullopt;
}

/// By the number of a node, its own epoch.
using Epochs = std::map<std::string, std::uint64_t>;

/// In what CLUSTER NODES answers: lines of "number address flags master ping pong epoch ...". A
/// user who may not ask for it knows of none.
Epochs epochs_in(const Reply& nodes) {
    Epochs epochs;
    std::istringstream lines(nodes.is_error() ? std::string() : nodes.text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string number;
        std::string other;
        std::uint64_t epoch = 0;
        words >> number >> other >> other >> other >> other >> other >> epoch;
        if (words) epochs[number] = epoch;
    }
    return epochs;
}

/// [host, port, number, ...]. Without a name, or an unknown one: at the node that was asked.
Host host_in(const Reply& node, const std::string& asked) {
    if (node.elements.size() < 2) return {};
    const std::string& name = node.elements[0].text;
    return {name.empty() || name == "?" ? asked : name,
            static_cast<std::uint16_t>(node.elements[1].integer)};
}

std::uint64_t epoch_of(const Reply& node, const Epochs& epochs) {
    if (node.elements.size() < 3) return 0;
    const auto found = epochs.find(node.elements[2].text);
    return found == epochs.end() ? 0 : found->second;
}

/// [first, last, master, replica...], as CLUSTER SLOTS answers.
bool is_row(const Reply& row) {
    return row.elements.size() >= 3 && row.elements[0].integer >= 0 &&
           row.elements[0].integer <= row.elements[1].integer &&
           row.elements[1].integer < hash_slots && row.elements[2].elements.size() >= 2;
}

ClusterMap::Row row_in(const Reply& row, const Epochs& epochs, const std::string& asked) {
    const Reply& master = row.elements[2];
    ClusterMap::Row read{.first = static_cast<std::uint16_t>(row.elements[0].integer),
                         .last = static_cast<std::uint16_t>(row.elements[1].integer),
                         .master = host_in(master, asked),
                         .epoch = epoch_of(master, epochs)};
    for (std::size_t i = 3; i < row.elements.size(); ++i) {
        read.replicas.push_back(host_in(row.elements[i], asked));
    }
    return read;
}

}  // namespace

std::vector<Command> question_about_cluster() {
    std::vector<Command> commands;
    commands.push_back({"CLUSTER", "INFO"});
    commands.push_back({"CLUSTER", "SLOTS"});
    commands.push_back({"CLUSTER", "NODES"});
    return commands;
}

std::optional<ClusterMap> cluster_map_in(std::span<const Reply> answers, const std::string& asked) {
    const Reply& slots = answers[1];
    const auto epoch = epoch_in(answers[0].text);
    if (slots.is_error() || !epoch) return std::nullopt;
    const Epochs epochs = epochs_in(answers[2]);
    ClusterMap map{.epoch = *epoch};
    for (const Reply& row : slots.elements) {
        if (is_row(row)) map.rows.push_back(row_in(row, epochs, asked));
    }
    return map;
}

}  // namespace holdfast::inline v0::redis
