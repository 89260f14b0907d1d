#pragma once

#include <functional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace holdfast::cli {

struct TypedLine;

/// A subcommand of the program (run, list, ...), as it stands in the parser. What was asked for is
/// known once the parser has parsed the line.
struct Subcommand {
    const CLI::App* parser;
    const std::string& store;
    /// Does what was asked for, and says how the program shall end.
    std::function<int()> act;
};

/// The subcommands. Each function adds one to the program, and is in the file of its name.

/// `holdfast run`. The line must outlive it, and be there when it acts: the command to be run
/// stands behind its `--`.
Subcommand add_run(CLI::App& program, const TypedLine& line);
/// `holdfast list`: who holds and who waits.
Subcommand add_list(CLI::App& program);
/// `holdfast show`: all that is known of one resource.
Subcommand add_show(CLI::App& program);
/// `holdfast break`: ends a hold.
Subcommand add_break(CLI::App& program);
/// `holdfast schema`: the statements that make what a store needs in its database.
Subcommand add_schema(CLI::App& program);
/// `holdfast init`: says that a store's servers are new.
Subcommand add_init(CLI::App& program);
/// `holdfast sweep`: removes what is over from a store.
Subcommand add_sweep(CLI::App& program);
/// `holdfast check`: whether locks are safe on a store.
Subcommand add_check(CLI::App& program);
/// `holdfast verify`: whether locks keep their promises on a store, tried out. Its options are
/// there when it is asked for: it has so many that every start of `run` would take longer.
Subcommand add_verify(CLI::App& program, std::span<char* const> words);
/// `holdfast stores`: what each store promises.
Subcommand add_stores(CLI::App& program);

}  // namespace holdfast::cli
