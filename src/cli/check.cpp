#include <memory>
#include <string>
#include <string_view>

#include <holdfast/checkup.hpp>

#include "cli/arguments.hpp"
#include "cli/connecting.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
#include "cli/table.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

/// What `holdfast check` was asked for.
struct CheckOptions {
    std::string store;
    bool json = false;
};

constexpr const char* check_examples = R"(Examples:
  holdfast check redis://db             is a lock safe there, and what should be changed
  holdfast check etcd://h1,h2 --json    the same for programs, and what its locks take

Exit codes: 0 safe, 1 there are warnings, 69 the store cannot be reached, 78 it cannot be used. It
changes no setting, and takes only locks of its own, for two seconds at most.)";

std::string in_microseconds(std::chrono::nanoseconds time) {
    const double microseconds = std::chrono::duration<double, std::micro>(time).count();
    if (microseconds < 1000) return formatted("{:.0f} us", microseconds);
    return formatted("{:.1f} ms", microseconds / 1000);
}

std::string line_of(std::string_view what, const Spread& spread) {
    if (spread.count == 0) return formatted("{:<12}not measured\n", what);
    return formatted("{:<12}p50 {}, p99 {}, of {}\n", what, in_microseconds(spread.p50),
                     in_microseconds(spread.p99), spread.count);
}

std::string measured_in(const Checkup& checkup) {
    std::string text = line_of("round trip", checkup.round_trip) +
                       line_of("free lock", checkup.pair) + line_of("hand-off", checkup.hand_off);
    if (checkup.clock_ahead) {
        const bool ahead = checkup.clock_ahead->count() >= 0;
        text += formatted("{:<12}{} {} this machine's\n", "clock",
                          in_microseconds(std::chrono::abs(*checkup.clock_ahead)),
                          ahead ? "ahead of" : "behind");
    }
    return text;
}

std::string paragraph_of(const Finding& finding, Colour colour) {
    const bool warns = finding.severity == Severity::warning;
    return painted(warns ? "warning" : "advice", warns ? Ink::waiting : Ink::heading, colour) +
           formatted(": {} ({})\n  so: {}\n  do: {}\n\n", visible(finding.fact), finding.name,
                     visible(finding.consequence), visible(finding.remedy));
}

std::string verdict_on(const Checkup& checkup) {
    std::size_t warnings = 0;
    for (const Finding& finding : checkup.findings) {
        if (finding.severity == Severity::warning) ++warnings;
    }
    const std::string store = visible(checkup.store) + ": ";
    if (warnings == 0) return store + "safe\n\n";
    return store + formatted("{} warning{}\n\n", warnings, warnings == 1 ? "" : "s");
}

std::string page_of(const Checkup& checkup) {
    const Colour colour = colour_of_output();
    std::string text = painted(verdict_on(checkup), Ink::heading, colour);
    for (const Finding& finding : checkup.findings) text += paragraph_of(finding, colour);
    return text + measured_in(checkup);
}

int check(const CheckOptions& options) {
    refuse_private(options.store);
    const Checkup checkup = check_up(options.store);
    print(options.json ? json_of(checkup) : page_of(checkup));
    return checkup.is_safe() ? success : has_warnings;
}

}  // namespace

Subcommand add_check(CLI::App& program) {
    const auto options = std::make_shared<CheckOptions>();
    CLI::App& parser =
        add_subcommand(program, {.name = "check",
                                 .summary = "Ask a store whether locks are safe on it",
                                 .usage = "holdfast check [OPTION...] [URL]",
                                 .examples = check_examples});
    add_json(parser, options->json);
    add_store_or_word(parser, options->store);
    return {&parser, options->store, [options] { return check(*options); }};
}

}  // namespace holdfast::cli
