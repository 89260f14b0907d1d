#include <chrono>
#include <memory>
#include <string>

#include <holdfast/upkeep.hpp>

#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
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
    return formatted("removed: contenders {}, resources {}", removed.contenders, removed.resources);
}

std::string swept_with_progress(const std::string& url) {
    using Clock = std::chrono::steady_clock;
    TerminalLine line;
    auto next = Clock::now() + between_reports;
    return in_words(sweep(url, [&](const Swept& removed, double looked_at) {
        if (Clock::now() < next) return;
        next = Clock::now() + between_reports;
        line.show(formatted("sweeping: {:.0f} %, {}", 100 * looked_at, in_words(removed)));
    }));
}

}  // namespace

Subcommand add_sweep(CLI::App& program) {
    const auto store = std::make_shared<std::string>();
    CLI::App& parser = add_subcommand(program, {.name = "sweep",
                                                .summary = "Remove what is over from a store",
                                                .usage = "holdfast sweep [URL]",
                                                .examples = sweep_examples});
    add_store_or_word(parser, *store);
    return {&parser, *store, [store] {
                print(swept_with_progress(*store) + "\n");
                return success;
            }};
}

}  // namespace holdfast::cli
