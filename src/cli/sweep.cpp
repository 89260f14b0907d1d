#include "cli/sweep.hpp"

#include <chrono>

#include <fmt/format.h>

#include <holdfast/upkeep.hpp>

#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/terminal_line.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* sweep_examples = R"(Examples:
  holdfast sweep postgres://app@db/shop     at times, where many names are used once

No lock needs it: what is over is in nobody's way, and takes room alone. Where a store removes it by
itself there is nothing to do.)";

/// Most sweeps are over before anybody could read it.
constexpr auto between_reports = 300ms;

std::string in_words(const Swept& removed) {
    return fmt::format("removed: contenders {}, resources {}", removed.contenders,
                       removed.resources);
}

std::string swept_with_progress(const std::string& url) {
    using Clock = std::chrono::steady_clock;
    TerminalLine line;
    auto next = Clock::now() + between_reports;
    return in_words(holdfast::sweep(url, [&](const Swept& removed, double looked_at) {
        if (Clock::now() < next) return;
        next = Clock::now() + between_reports;
        line.show(fmt::format("sweeping: {:.0f} %, {}", 100 * looked_at, in_words(removed)));
    }));
}

}  // namespace

CLI::App* add_sweep(CLI::App& program, SweepOptions& options) {
    CLI::App* const command = program.add_subcommand("sweep", "Remove what is over from a store");
    command->formatter(std::make_shared<HelpWithUsage>("holdfast sweep [URL]"));
    add_store_or_word(*command, options.store);
    command->footer(sweep_examples);
    return command;
}

int sweep(const SweepOptions& options) {
    print(swept_with_progress(options.store) + "\n");
    return success;
}

}  // namespace holdfast::cli
