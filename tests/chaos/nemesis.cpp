#include "chaos/nemesis.hpp"

#include <thread>
#include <utility>

namespace holdfast::chaos {

using namespace std::chrono_literals;
using verify::Instant;
using verify::now;

namespace {

/// As long as somebody who was let in wrongly, or who was forgotten, may hold: the longest lease,
/// and a request on its way.
constexpr Instant aftermath = 10'000'000'000;

}  // namespace

Nemesis::Nemesis(std::vector<Fault> faults, Site& site, Random& random)
    : faults_(std::move(faults)), site_(site), random_(random) {}

void Nemesis::strike() {
    const Instant begin = now();
    std::vector<std::function<void()>> mending;
    std::vector<Excused> excused;
    bool alone = false;
    for (auto left = 1 + random_() % 4 / 3; left > 0 && !alone; --left) {
        const Fault& fault = pick();
        if (fault.alone && !mending.empty()) break;
        alone = fault.alone;
        ++strikes_[fault.name];
        mending.push_back(fault.begin(random_));
        if (fault.excuse.excuses()) excused.push_back(fault.excuse);
        pause_for(10ms, 1500ms);
    }
    pause_for(10ms, 1500ms);
    for (auto& mend : mending) mend();
    site_.settle();
    for (const Excused& one : excused) excuses_.push_back({begin, now() + aftermath, one});
    pause_for(10ms, 500ms);
}

const Fault& Nemesis::pick() {
    return faults_.at(random_() % faults_.size());
}

void Nemesis::pause_for(std::chrono::milliseconds least, std::chrono::milliseconds most) {
    const auto range = static_cast<std::uint64_t>((most - least).count());
    std::this_thread::sleep_for(least + std::chrono::milliseconds{random_() % range});
}

}  // namespace holdfast::chaos
