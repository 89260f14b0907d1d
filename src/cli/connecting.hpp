#pragma once

#include <string>

#include <holdfast/client.hpp>

#include "cli/signals.hpp"

namespace holdfast::cli {

/// Connects; a signal that comes meanwhile ends this process at once, for a server may be silent
/// for seconds, and nothing is held yet.
Client connect_unless_ended(const std::string& url, const Signals& signals);

}  // namespace holdfast::cli
