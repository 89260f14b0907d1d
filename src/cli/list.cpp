#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/connecting.hpp"
#include "cli/contenders.hpp"
#include "cli/exit_code.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

/// What `holdfast list` was asked for.
struct ListOptions {
    std::string prefix;
    std::string store;
    bool json = false;
};

constexpr const char* list_examples = R"(Examples:
  holdfast list            all that is held or waited for
  holdfast list jobs/      only what starts with jobs/
  holdfast list --json     an array of {"name", "holders": [...], "waiters": [...]}

A share is all of it, shared, joined (re-entered), or permits of how many there are. What is
offered has its next holder, which is about to take it. Where any key might be a lock (-S with
?layout=...) a PREFIX must be given. More of one: holdfast show NAME)";

std::string table_of(const std::vector<ResourceInfo>& resources) {
    Table table({{"NAME"},
                 {"STATE"},
                 {"OWNER"},
                 {"FENCE", Table::Side::right},
                 {"LEASE LEFT", Table::Side::right},
                 {"SHARE"}});
    for (const ResourceInfo& resource : resources) {
        for (const auto& [contender, state] : in_order(resource)) {
            table.add({{visible(resource.name)},
                       state,
                       {show_owner(contender)},
                       {show_fence(contender)},
                       {show_lease(contender)},
                       {show_share(contender)}});
        }
    }
    return table.text(colour_of_output());
}

int list(const ListOptions& options) {
    const std::vector<ResourceInfo> resources = connect_to(options.store).inspect(options.prefix);
    print(options.json ? json_of(resources, Detail::listed) : table_of(resources));
    return success;
}

}  // namespace

Subcommand add_list(CLI::App& program) {
    const auto options = std::make_shared<ListOptions>();
    CLI::App& parser = add_subcommand(program, {.name = "list",
                                                .summary = "Show who holds and who waits",
                                                .usage = "holdfast list [OPTION...] [PREFIX]",
                                                .examples = list_examples});
    add_prefix(parser, options->prefix);
    add_json(parser, options->json);
    add_store(parser, options->store);
    return {&parser, options->store, [options] { return list(*options); }};
}

}  // namespace holdfast::cli
