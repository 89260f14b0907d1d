#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::simulation {

/// Time in a simulation, from its start.
using Time = std::chrono::nanoseconds;

/// The same numbers on every machine for one seed (splitmix64): the distributions of the standard
/// library may differ between implementations.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

    std::uint64_t next() {
        std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31);
    }
    /// From 0 to limit - 1.
    std::uint64_t below(std::uint64_t limit) { return next() % limit; }
    /// Both included.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) {
        return low + below(high - low + 1);
    }
    Time between(Time low, Time high) {
        return low + Time(below(static_cast<std::uint64_t>((high - low).count()) + 1));
    }
    bool chance(unsigned in_thousand) { return below(1000) < in_thousand; }

private:
    std::uint64_t state_;
};

}  // namespace holdfast::simulation
