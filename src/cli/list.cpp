#include "cli/list.hpp"

#include <vector>

#include "cli/contenders.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

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

}  // namespace

CLI::App* add_list(CLI::App& program, ListOptions& options) {
    CLI::App* const command = program.add_subcommand("list", "Show who holds and who waits");
    command->formatter(std::make_shared<HelpWithUsage>("holdfast list [OPTION...] [PREFIX]"));
    command->add_option("PREFIX", options.prefix, "Only what starts with this");
    command->add_flag("--json", options.json, "For programs");
    add_store(*command, options.store);
    command->footer(list_examples);
    return command;
}

int list(const ListOptions& options) {
    const std::vector<ResourceInfo> resources = connect_to(options.store).inspect(options.prefix);
    print(options.json ? json_of(resources, Detail::listed) : table_of(resources));
    return success;
}

}  // namespace holdfast::cli
