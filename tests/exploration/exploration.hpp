#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "exploration/stage.hpp"

namespace holdfast::exploration {

struct Finding {
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    std::uint64_t admissions = 0;  ///< steps by which somebody is admitted
    std::uint64_t longest = 0;     ///< of the ways, in steps
    std::string violation = {};    ///< with how it came to it
};

/// Goes every way that two clients and three nodes can go, whatever is lost, late or doubled, and
/// whoever gives up or restarts when. A message that never arrives is lost, so each loss is among
/// them. In every state no two may hold; a fence that is given is larger than all before it; and
/// when no request is under way, nobody is in who has left.
///
/// States are remembered by 128 bits of each: that two of a thousand million share them has a
/// chance of one in 10^20.
class Exploration {
public:
    explicit Exploration(const Bounds& bounds, Fault fault = Fault::none,
                         Lapse lapse = Lapse::none);

    /// Until the first violation.
    Finding run();

private:
    struct FingerprintHash {
        std::size_t operator()(const Stage::Fingerprint& one) const noexcept { return one.low; }
    };

    void visit(const Stage::State& state, std::uint64_t highest_fence);
    void go(Stage::State state, std::uint64_t highest_fence, const Step& step);
    void violated(const std::string& what);

    Stage stage_;
    std::unordered_set<Stage::Fingerprint, FingerprintHash> visited_;
    std::vector<Step> way_;
    Finding finding_;
};

}  // namespace holdfast::exploration
