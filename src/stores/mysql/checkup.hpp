#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/checkup.hpp>

#include "stores/sql/calls.hpp"
#include "stores/sql/settings.hpp"

namespace holdfast::inline v0::mysql {

/// The statements that tell how a server is set up, and what follows from what they told: see
/// sql::Dialect. They need no right.
extern const std::string_view examination;
/// `zone`: that of ShedLock's sessions, where locks are shared with it.
std::vector<Finding> findings_in(const sql::Settings& settings, sql::Tables tables,
                                 const std::string& zone);

}  // namespace holdfast::inline v0::mysql
