#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>

#include "chaos/site.hpp"

namespace holdfast::chaos {

struct Plan {
    std::chrono::seconds time{20};
    std::uint64_t seed = 0;
    std::size_t workers = 8;
};

/// Lets all faults loose on a site while clients contend, and judges what they wrote down. Whether
/// nothing was found that is not excused; what was, and how much was seen, is told to `out`.
bool run(const SiteEntry& site, const Plan& plan, std::ostream& out);

}  // namespace holdfast::chaos
