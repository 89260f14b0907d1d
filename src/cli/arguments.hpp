#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

/// Gives a command, or the program, a help of our form, with this usage line: the parser does not
/// know what is behind a `--`.
void set_help(CLI::App& command, std::string usage, const char* examples);

/// What the help says of a command.
struct Heading {
    const char* name;
    const char* summary;
    const char* usage;
    const char* examples;
};

/// Adds a command to the program's.
CLI::App& add_command(CLI::App& program, const Heading& heading);

/// Each adds an argument that parsing fills. What it fills must outlive the parser.

/// NAME, the one resource that a command is about. An empty one is refused.
void add_name(CLI::App& command, std::string& name);
/// PREFIX, which may be left out.
void add_prefix(CLI::App& command, std::string& prefix);
/// --fence, which must be given.
void add_fence(CLI::App& command, std::uint64_t& fence);
/// --json.
void add_json(CLI::App& command, bool& json);
/// -S. It stays empty for the store of this machine.
void add_store(CLI::App& command, std::string& url);
/// The same for a command that is about the store alone: it may also stand there by itself.
void add_store_or_word(CLI::App& command, std::string& url);

}  // namespace holdfast::cli
