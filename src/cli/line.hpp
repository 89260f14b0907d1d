#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace holdfast::cli {

using Words = std::span<char* const>;

/// What stands before the first `--`, and what behind it.
struct Line {
    Words ours;
    Words command;
    bool separated = false;
};

/// Splits the program's words. Where a `run` forgot the `--`, the command is taken to start at the
/// second word that is no option of ours: one name is the rule. Elsewhere all words are ours, and
/// a `--` is the parser's: the name behind it may start with a dash.
Line split(Words words, const CLI::App& run);

/// The line as it should have been typed, for a shell, without the passwords of its URLs.
std::string with_separator(const Line& line);

/// The text with `...` for what stands before the @ of a URL.
std::string without_passwords(std::string text);

}  // namespace holdfast::cli
