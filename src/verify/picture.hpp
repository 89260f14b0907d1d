#pragma once

#include <string>

#include "verify/report.hpp"

namespace holdfast::verify {

/// How many visits a page has at most, beside those that were lost, killed or broken.
inline constexpr std::size_t most_shown = 60'000;

/// A page that shows who held, waited, lost what and when; it needs nothing but itself. Of more
/// visits than a browser draws at ease it has the last ones, and all that are of interest.
std::string picture_of(const Report& report);

}  // namespace holdfast::verify
