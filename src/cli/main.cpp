#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/error.hpp>
#include <holdfast/version.hpp>

#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/list.hpp"
#include "cli/run.hpp"
#include "cli/say.hpp"

namespace holdfast::cli {
namespace {

using Words = std::span<char* const>;

constexpr const char* examples = R"(Examples:
  holdfast run backup -- tar -cf backup.tar data   one at a time on this machine
  holdfast run -n nightly -- ./nightly             give up at once if it runs already
  holdfast list                                    who holds what, and who waits

More of each: holdfast run --help, holdfast list --help)";

/// What stands before the first `--`, and what behind it.
struct Line {
    Words ours;
    Words command;
    bool separated = false;
};

Line split(Words words) {
    const auto separator = std::ranges::find(words, std::string_view("--"));
    const auto before = static_cast<std::size_t>(separator - words.begin());
    if (separator == words.end()) return {.ours = words, .command = {}, .separated = false};
    return {.ours = words.first(before), .command = words.subspan(before + 1), .separated = true};
}

int refuse_usage(const std::string& sentence) {
    say(sentence + "; see holdfast --help");
    return usage;
}

int refuse_without_command(const RunOptions& options, const Line& line) {
    const std::string& name = options.names.front();
    if (line.separated) return refuse_usage("there is no command behind the --");
    if (options.names.size() == 1) {
        return refuse_usage("there is no command: holdfast run " + name + " -- COMMAND");
    }
    const std::vector<std::string> rest(options.names.begin() + 1, options.names.end());
    return refuse_usage(fmt::format("put -- before the command: holdfast run {} -- {}", name,
                                    fmt::join(rest, " ")));
}

int dispatch(Words words) {
    CLI::App program{"Distributed locks on the store that you already run.", "holdfast"};
    program.set_version_flag("--version", fmt::format("holdfast {}", version()));
    program.require_subcommand(1);
    program.formatter(std::make_shared<HelpWithUsage>("holdfast COMMAND [OPTION...]"));
    program.footer(examples);
    RunOptions run_options;
    ListOptions list_options;
    const CLI::App* const run_command = add_run(program, run_options);
    const CLI::App* const list_command = add_list(program, list_options);

    const Line line = split(words);
    try {
        program.parse(static_cast<int>(line.ours.size()), line.ours.data());
    } catch (const CLI::Success& help_or_version) {
        return program.exit(help_or_version);
    } catch (const CLI::ParseError& error) {
        return refuse_usage(error.what());
    }
    if (run_command->parsed()) {
        if (line.command.empty()) return refuse_without_command(run_options, line);
        run_options.command.assign(line.command.begin(), line.command.end());
        return run(std::move(run_options));
    }
    if (list_command->parsed()) return list(list_options);
    return usage;
}

}  // namespace
}  // namespace holdfast::cli

int main(int count, char** words) {
    using namespace holdfast;
    try {
        return cli::dispatch({words, static_cast<std::size_t>(count)});
    } catch (const Error& error) {
        cli::say(error.what());
        return cli::exit_code_of(error);
    } catch (const std::exception& error) {
        cli::say(error.what());
        return cli::internal_error;
    }
}
