#pragma once

#include <string_view>
#include <vector>

#include <holdfast/checkup.hpp>

#include "stores/sql/settings.hpp"

namespace holdfast::inline v0::postgres {

/// The statements that tell how a server is set up, and what follows from what they told: see
/// sql::Dialect. They need no right.
extern const std::string_view examination;
std::vector<Finding> findings_in(const sql::Settings& settings);

}  // namespace holdfast::inline v0::postgres
