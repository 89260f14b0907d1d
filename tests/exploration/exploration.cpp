#include "exploration/exploration.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::exploration {

Exploration::Exploration(const Bounds& bounds, Fault fault, Lapse lapse)
    : stage_(bounds, fault, lapse) {}

Finding Exploration::run() {
    visit(stage_.start(), 0);
    return finding_;
}

void Exploration::visit(const Stage::State& state, std::uint64_t highest_fence) {
    if (!visited_.insert(stage_.fingerprint_of(state, highest_fence)).second) return;
    ++finding_.states;
    finding_.longest = std::max<std::uint64_t>(finding_.longest, way_.size());
    if (stage_.holds(state, 0) && stage_.holds(state, 1)) return violated("two hold");
    if (stage_.has_ghost(state)) return violated("somebody is in who has left");
    for (const Step& step : stage_.steps_from(state)) {
        if (!finding_.violation.empty()) return;
        go(state, highest_fence, step);
    }
}

void Exploration::go(Stage::State state, std::uint64_t highest_fence, const Step& step) {
    ++finding_.steps;
    way_.push_back(step);
    const auto fence = stage_.happen(state, step);
    if (fence != 0) {
        ++finding_.admissions;
        if (fence <= highest_fence) {
            violated("fence " + std::to_string(fence) + " comes after " +
                     std::to_string(highest_fence));
        }
    }
    visit(state, std::max(highest_fence, fence));
    way_.pop_back();
}

void Exploration::violated(const std::string& what) {
    if (!finding_.violation.empty()) return;
    finding_.violation = what + ", when:";
    for (const Step& step : way_) finding_.violation += "\n  " + stage_.told(step);
}

}  // namespace holdfast::exploration
