#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace holdfast::cli {

using Words = std::span<char* const>;

/// What stands before the first `--`, and what behind it.
struct TypedLine {
    Words ours;
    Words command;
    bool separated = false;
};

/// Splits the program's words. Where a `run` forgot the `--`, the command is taken to start at the
/// second word that is no option of ours: one name is the rule. Elsewhere all words are ours, and
/// a `--` is the parser's: the name behind it may start with a dash. So it may in a `run` between
/// a first `--` and a second one.
TypedLine split(Words words, const CLI::App& run);

/// Whether a value belongs to the option.
bool has_value(const CLI::App& command, const std::string& option);
/// Whether the option's value is the next word: `-w 5`, `-sw 5`, `--wait 5`; not `-w5`, `--wait=5`.
bool takes_next(const CLI::App& command, std::string_view word);

/// The line as it should have been typed, for a shell, without the passwords of its URLs.
std::string with_separator(const TypedLine& line);

/// The text with `...` for what stands between the :// of its first URL and its last @.
std::string without_passwords(std::string text);

/// Says what is wrong with the line, without passwords, and where its help is; the exit code for
/// that. `about` is the command that was asked for and a blank; empty if it is none of ours.
int refuse_usage(const std::string& sentence, const std::string& about = "run ");

}  // namespace holdfast::cli
