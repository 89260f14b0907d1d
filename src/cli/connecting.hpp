#pragma once

#include <string>

#include <holdfast/client.hpp>

#include "cli/signals.hpp"

namespace holdfast::cli {

/// Connects, but not to a store that ends with this process: nobody else could see it.
Client connect_to(const std::string& url);

/// Throws Error for the URL of a store that ends with this process.
void refuse_private(const std::string& url);

/// Whether it is the embedded store: mostly that answers sooner than a thread is made.
bool is_on_this_machine(const std::string& url);

/// Connects; a signal that comes meanwhile ends this process at once, for a server may be silent
/// for seconds, and nothing is held yet.
Client connect_unless_ended(const std::string& url, const Signals& signals);

}  // namespace holdfast::cli
