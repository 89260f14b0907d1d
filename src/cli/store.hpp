#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Adds -S to a command. Parsing fills `url`; it stays empty for the store of this machine.
void add_store(CLI::App& command, std::string& url);

/// Connects, but not to a store that ends with this process: nobody else could see it.
Client connect_to(const std::string& url, const ClientOptions& options = {});

}  // namespace holdfast::cli
