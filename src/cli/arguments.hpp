#pragma once

#include <cstdint>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has
class App;
}

namespace holdfast::cli {

/// Gives a subcommand, or the program, a help of our form, with this usage line: the parser does
/// not know what is behind a `--`.
void set_help(CLI::App& subcommand, std::string usage, const char* examples);

/// What the help says of a subcommand.
struct Heading {
    const char* name;
    const char* summary;
    const char* usage;
    const char* examples;
};

/// Adds a subcommand to the program.
CLI::App& add_subcommand(CLI::App& program, const Heading& heading);

/// Each adds an argument that parsing fills. What it fills must outlive the parser.

/// NAME, the one resource that a subcommand is about. An empty one is refused.
void add_name(CLI::App& subcommand, std::string& name);
/// PREFIX, which may be left out.
void add_prefix(CLI::App& subcommand, std::string& prefix);
/// --fence, which must be given.
void add_fence(CLI::App& subcommand, std::uint64_t& fence);
/// --json.
void add_json(CLI::App& subcommand, bool& json);
/// -S. It stays empty for the store of this machine.
void add_store(CLI::App& subcommand, std::string& url);
/// The same for a subcommand that is about the store alone: it may also stand there by itself.
void add_store_or_word(CLI::App& subcommand, std::string& url);

}  // namespace holdfast::cli
