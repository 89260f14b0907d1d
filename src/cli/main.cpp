#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <holdfast/version.hpp>

#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/mistyped.hpp"
#include "cli/output.hpp"
#include "cli/servers.hpp"
#include "cli/signals.hpp"
#include "cli/subcommands.hpp"
#include "cli/typed_line.hpp"

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

int refuse_ours(const std::string& sentence, const TypedLine& line, const std::string& about) {
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
    return formatted("there is no command '{}'{}; there are: {}", word,
                     meant.empty() ? "" : ", did you mean " + meant + "?", joined(known, ", "));
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
            return formatted("{} has an empty value", word);
        }
    }
    return unknown_option(options, command).value_or("");
}

int print_help(const CLI::App& program, const CLI::Success& help_or_version) {
    std::ostringstream text;
    const int code = program.exit(help_or_version, text, text);
    print(text.str());
    return code;
}

/// Fills the options of the command that was asked for; or says how the program shall end, because
/// it was not understood, or only asked for help.
std::optional<int> parse(CLI::App& program, const TypedLine& line) {
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
    CLI::App& command = add_subcommand(program, {.name = "help",
                                                 .summary = "Show the help of a command",
                                                 .usage = "holdfast help [COMMAND]",
                                                 .examples = ""});
    command.add_option("COMMAND", about, "The command; the program itself unless given");
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

int dispatch(Words typed) {
    const std::vector<char*> understood = with_help_as_option(typed);
    const Words words(understood);
    CLI::App program{"Distributed locks on the store that you already run.", "holdfast"};
    program.set_version_flag("--version", std::string("holdfast ") + version());
    program.require_subcommand(1);
    set_help(program, "holdfast COMMAND [OPTION...]", program_examples);
    std::string help_about;
    TypedLine line;
    const std::array commands{add_run(program, line),    add_list(program),   add_show(program),
                              add_break(program),        add_schema(program), add_init(program),
                              add_sweep(program),        add_stores(program), add_check(program),
                              add_verify(program, words)};

    add_help(program, help_about);
    line = split(words, *commands.front().parser);
    if (const auto ended = parse(program, line)) return *ended;
    for (const auto& [parser, store, act] : commands) {
        if (!parser->parsed()) continue;
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
