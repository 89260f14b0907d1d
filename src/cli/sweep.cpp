#include "cli/sweep.hpp"

#include <fmt/format.h>

#include <holdfast/upkeep.hpp>

#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* examples = R"(Examples:
  holdfast sweep postgres://app@db/shop     at times, where many names are used once

No lock needs it: what is over is in nobody's way, and takes room alone. Where a store removes it by
itself there is nothing to do.)";

}  // namespace

CLI::App* add_sweep(CLI::App& program, SweepOptions& options) {
    CLI::App* const command = program.add_subcommand("sweep", "Remove what is over from a store");
    command->formatter(std::make_shared<HelpWithUsage>("holdfast sweep [URL]"));
    add_store_or_word(*command, options.store);
    command->footer(examples);
    return command;
}

int sweep(const SweepOptions& options) {
    const Swept swept = holdfast::sweep(options.store);
    print(fmt::format("removed: contenders {}, resources {}\n", swept.contenders, swept.resources));
    return success;
}

}  // namespace holdfast::cli
