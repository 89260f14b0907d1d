#include <memory>
#include <string>

#include <holdfast/upkeep.hpp>

#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* init_examples = R"(Examples:
  holdfast init redlock://h1,h2,h3          once, when the servers were set up

Independent nodes that were never used look like those that have forgotten who holds, and do not
count for max_lease (a minute); this says that nobody holds. Other stores need nothing of the kind.)";

int say_that_it_is_new(const std::string& store) {
    const auto nodes = init(store);
    print(nodes == 0 ? "nothing to do: this store needs no init\n"
                     : formatted("marked as new: nodes {}\n", nodes));
    return success;
}

}  // namespace

Subcommand add_init(CLI::App& program) {
    const auto store = std::make_shared<std::string>();
    CLI::App& parser =
        add_subcommand(program, {.name = "init",
                                 .summary = "Say that the servers of a store are new",
                                 .usage = "holdfast init [URL]",
                                 .examples = init_examples});
    add_store_or_word(parser, *store);
    return {&parser, *store, [store] { return say_that_it_is_new(*store); }};
}

}  // namespace holdfast::cli
