#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/version.hpp>

#include "cli/break.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/line.hpp"
#include "cli/list.hpp"
#include "cli/mistyped.hpp"
#include "cli/output.hpp"
#include "cli/run.hpp"
#include "cli/say.hpp"
#include "cli/schema.hpp"
#include "cli/servers.hpp"
#include "cli/show.hpp"
#include "cli/signals.hpp"
#include "cli/sweep.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* program_examples = R"(Examples:
  holdfast run backup -- tar -cf backup.tar data   one at a time on this machine
  holdfast run -n nightly -- ./nightly             give up at once if it runs already
  holdfast list                                    who holds what, and who waits
  holdfast show backup                             the same of one, and where and since when
  holdfast break backup --fence 1790000000000000   end that hold

More of each: holdfast help COMMAND)";

/// Who closed one of the three (2>&-) would have the store's file opened in its place, and our
/// lines written into it. Read only, so that writing still fails; closed again for the command.
void occupy_standard_descriptors() {
    int descriptor = 0;
    do {
        descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0) close(descriptor);
}

/// `about` is the command that was asked for; empty if it is none of ours.
int refuse_usage(const std::string& sentence, const std::string& about = "run ") {
    say(without_passwords(sentence) + "; see holdfast " + about + "--help");
    return usage;
}

int refuse_unseparated(const Line& line) {
    if (line.command.empty()) {
        return refuse_usage("there is no command: " + with_separator(line) + " COMMAND");
    }
    say("put -- before the command; did you mean: " + with_separator(line) + "?");
    return usage;
}

int refuse_ours(const std::string& sentence, const Line& line, const std::string& about) {
    // Without the line as it should be: with what is wrong here it would be wrong too.
    const bool forgotten = !line.separated && !line.command.empty();
    return refuse_usage(sentence + (forgotten ? "; and put -- before the command" : ""), about);
}

std::vector<std::string> commands_of(const CLI::App& program) {
    std::vector<std::string> names;
    for (const auto* const command :
         program.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

/// The command that was asked for, if it is one of ours; otherwise the program itself.
const CLI::App& asked_for(const CLI::App& program, Words ours) {
    const auto known = commands_of(program);
    const bool is_known = ours.size() > 1 && std::ranges::find(known, ours[1]) != known.end();
    return is_known ? *program.get_subcommand(ours[1]) : program;
}

std::string unknown_command(const std::string& word, const std::vector<std::string>& known) {
    const std::string meant = nearest(word, known);
    return fmt::format("there is no command '{}'{}; there are: {}", word,
                       meant.empty() ? "" : ", did you mean " + meant + "?",
                       fmt::join(known, ", "));
}

/// What the parser would say something misleading about, or nothing at all; empty if all is well.
std::string misunderstood(const CLI::App& program, Words ours) {
    const CLI::App& command = asked_for(program, ours);
    const bool is_program = &command == &program;
    if (ours.size() > 1 && ours[1][0] != '-' && is_program) {
        return unknown_command(ours[1], commands_of(program));
    }
    const Words options = ours.subspan(std::min<std::size_t>(ours.size(), is_program ? 1 : 2));
    for (const std::string_view word : options) {
        if (word == "--") break;
        // The parser would take the next word for the value: --store=$UNSET NAME.
        if (word.starts_with("--") && word.find('=') == word.size() - 1) {
            return fmt::format("{} has an empty value", word);
        }
    }
    return unknown_option(options, command).value_or("");
}

/// As flock(1) has it: $SHELL, or the standard one.
std::vector<std::string> in_shell(const std::string& text) {
    const char* const shell = std::getenv("SHELL");
    return {shell == nullptr || *shell == '\0' ? "/bin/sh" : shell, "-c", text};
}

int run_in_shell(RunOptions options, const Line& line) {
    if (line.separated || !line.command.empty()) {
        return refuse_usage("-c has the command already; leave the other one out");
    }
    options.command = in_shell(*options.for_shell);
    return run(std::move(options));
}

int run_separated(RunOptions options, const Line& line) {
    if (options.for_shell) return run_in_shell(std::move(options), line);
    if (!line.separated) return refuse_unseparated(line);
    if (line.command.empty()) return refuse_usage("there is no command behind the --");
    options.command.assign(line.command.begin(), line.command.end());
    if (options.command.front().empty()) return refuse_usage("the command behind the -- is empty");
    return run(std::move(options));
}

int print_help(const CLI::App& program, const CLI::Success& help_or_version) {
    std::ostringstream text;
    const int code = program.exit(help_or_version, text, text);
    print(text.str());
    return code;
}

/// Fills the options of the command that was asked for; or says how the program shall end, because
/// it was not understood, or only asked for help.
std::optional<int> parse(CLI::App& program, const Line& line) {
    const CLI::App& command = asked_for(program, line.ours);
    const std::string about = &command == &program ? "" : command.get_name() + " ";
    if (const auto sentence = misunderstood(program, line.ours); !sentence.empty()) {
        return refuse_ours(sentence, line, about);
    }
    try {
        program.parse(static_cast<int>(line.ours.size()), line.ours.data());
        return std::nullopt;
    } catch (const CLI::Success& help_or_version) {
        return print_help(program, help_or_version);
    } catch (const CLI::ParseError& error) {
        return refuse_ours(error.what(), line, about);
    }
}

/// `holdfast help [COMMAND]`, for those who expect it.
void add_help(CLI::App& program, std::string& about) {
    CLI::App* const command = program.add_subcommand("help", "Show the help of a command");
    command->formatter(std::make_shared<HelpWithUsage>("holdfast help [COMMAND]"));
    command->add_option("COMMAND", about, "The command; the program itself unless given");
}

/// `help COMMAND` as `COMMAND --help`; other words as they are.
std::vector<char*> with_help_as_option(Words words) {
    static char option[] = "--help";
    std::vector<char*> result(words.begin(), words.end());
    const bool is_help = words.size() > 1 && words.size() < 4 && words[1] == std::string("help");
    if (!is_help || (words.size() == 3 && words[2][0] == '-')) return result;
    result.erase(result.begin() + 1);
    result.push_back(option);
    return result;
}

/// A command of ours: whether it was asked for, on which store, and what it does then.
struct Choice {
    const CLI::App* command;
    const std::string& store;
    std::function<int()> act;
};

int dispatch(Words typed) {
    const std::vector<char*> understood = with_help_as_option(typed);
    const Words words(understood);
    CLI::App program{"Distributed locks on the store that you already run.", "holdfast"};
    program.set_version_flag("--version", fmt::format("holdfast {}", version()));
    program.require_subcommand(1);
    program.formatter(std::make_shared<HelpWithUsage>("holdfast COMMAND [OPTION...]"));
    program.footer(program_examples);
    RunOptions run_options;
    ListOptions list_options;
    ShowOptions show_options;
    BreakOptions break_options;
    SchemaOptions schema_options;
    SweepOptions sweep_options;
    std::string help_about;
    Line line;
    const std::array choices{
        Choice{add_run(program, run_options), run_options.store,
               [&] { return run_separated(std::move(run_options), line); }},
        Choice{add_list(program, list_options), list_options.store,
               [&] { return list(list_options); }},
        Choice{add_show(program, show_options), show_options.store,
               [&] { return show(show_options); }},
        Choice{add_break(program, break_options), break_options.store,
               [&] { return break_hold(break_options); }},
        Choice{add_schema(program, schema_options), schema_options.store,
               [&] { return schema(schema_options); }},
        Choice{add_sweep(program, sweep_options), sweep_options.store,
               [&] { return sweep(sweep_options); }},
    };

    add_help(program, help_about);
    line = split(words, *choices.front().command);
    if (const auto ended = parse(program, line)) return *ended;
    for (const auto& [command, store, act] : choices) {
        if (!command->parsed()) continue;
        become_program_for(store, typed);
        return act();
    }
    return usage;
}

}  // namespace
}  // namespace holdfast::cli

int main(int count, char** words) {
    using namespace holdfast;
    // The library's thread needs no heap of its own, which takes longer to make than to use.
    mallopt(M_ARENA_MAX, 1);
    cli::occupy_standard_descriptors();
    cli::fail_instead_of_dying_at_the_file_size_limit();
    return cli::exit_code_of([=] {
        return cli::dispatch({words, static_cast<std::size_t>(count)});
    });
}
