#include "cli/name.hpp"

namespace holdfast::cli {

void add_name(CLI::App& command, std::string& name) {
    command.add_option("NAME", name, "The resource: its whole name")
        ->required()
        ->check([](const std::string& text) { return text.empty() ? "the name is empty" : ""; });
}

}  // namespace holdfast::cli
