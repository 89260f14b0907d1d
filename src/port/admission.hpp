#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/options.hpp>

namespace holdfast::inline v0 {

/// A contender in line, as far as admission cares.
struct InLine {
    std::uint64_t weight = 0;
    bool admitted = false;
};

/// The one admission rule: the contender at `index` of a line in order is admitted when its own
/// weight, the weights of all admitted contenders wherever they stand, and (with fifo) the weights
/// of all waiting ahead of it fit the capacity. One that is admitted stays so.
constexpr bool is_admitted(std::span<const InLine> line, std::size_t index, std::uint64_t capacity,
                           Fairness fairness) {
    if (line[index].admitted) return true;
    // Subtracting from what is left cannot wrap, whatever weights a foreign contender names.
    std::uint64_t left = capacity;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool ahead = fairness == Fairness::fifo && i < index;
        if (!line[i].admitted && !ahead && i != index) continue;
        if (line[i].weight > left) return false;
        left -= line[i].weight;
    }
    return true;
}

}  // namespace holdfast::inline v0
