#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Adds -S to a command. Parsing fills `url`; it stays empty for the store of this machine.
void add_store(CLI::App& command, std::string& url);
/// The same for a command that is about the store alone: it may also stand there by itself.
void add_store_or_word(CLI::App& command, std::string& url);

/// Connects, but not to a store that ends with this process: nobody else could see it.
Client connect_to(const std::string& url, const ClientOptions& options = {});

}  // namespace holdfast::cli
