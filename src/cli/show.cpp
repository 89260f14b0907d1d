#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/connecting.hpp"
#include "cli/contenders.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

/// What `holdfast show` was asked for.
struct ShowOptions {
    std::string name;
    std::string store;
    bool json = false;
};

constexpr const char* show_examples = R"(Examples:
  holdfast show deploy            who holds it, since when and where, and who waits in which order
  holdfast show deploy --json     as list --json, and "host", "pid", "age_ms", "foreign"
  holdfast show -- -deploy        a name that starts with a dash

FOR is how long it has been held or, of one that waits, waited for. To end a hold, give its fence
to holdfast break. One that took the lock by another library than holdfast (-S ...?layout=...) has
no fence; holdfast break --fence 0 ends it.)";

bool is_free(const ResourceInfo& resource) {
    return resource.holders.empty() && resource.waiters.empty();
}

std::string holders_in_words(const ResourceInfo& resource) {
    if (resource.holders.empty()) return "free";
    const auto held = std::ranges::count_if(resource.holders, is_held);
    if (held == 0) return "offered";
    return held == 1 ? "held" : formatted("held by {}", held);
}

std::string summary_of(const ResourceInfo& resource) {
    const std::size_t waiting = resource.waiters.size();
    return visible(resource.name) + ": " + holders_in_words(resource) +
           (waiting == 0 ? "" : formatted(", {} waiting", waiting));
}

Table table_of(const ResourceInfo& resource) {
    Table table({{"STATE"},
                 {"FENCE", Table::Side::right},
                 {"FOR", Table::Side::right},
                 {"LEASE LEFT", Table::Side::right},
                 {"SHARE"},
                 {"OWNER"},
                 {"HOST"},
                 {"PID", Table::Side::right}});
    for (const auto& [contender, state] : in_order(resource)) {
        table.add({state,
                   {show_fence(contender)},
                   {show_age(contender)},
                   {show_lease(contender)},
                   {show_share(contender)},
                   {show_owner(contender)},
                   {show_host(contender)},
                   {show_pid(contender)}});
    }
    return table;
}

std::string page_of(const ResourceInfo& resource) {
    const Colour colour = colour_of_output();
    const std::string summary = painted(summary_of(resource), Ink::heading, colour) + "\n";
    return is_free(resource) ? summary : summary + "\n" + table_of(resource).text(colour);
}

std::string json_of_one(const ResourceInfo& resource) {
    if (is_free(resource)) return json_of({}, Detail::shown);
    return json_of(std::vector{resource}, Detail::shown);
}

int show(const ShowOptions& options) {
    const ResourceInfo resource = find(connect_to(options.store), options.name);
    print(options.json ? json_of_one(resource) : page_of(resource));
    return success;
}

}  // namespace

Subcommand add_show(CLI::App& program) {
    const auto options = std::make_shared<ShowOptions>();
    CLI::App& parser = add_subcommand(program, {.name = "show",
                                                .summary = "Show all that is known of one resource",
                                                .usage = "holdfast show [OPTION...] NAME",
                                                .examples = show_examples});
    add_name(parser, options->name);
    add_json(parser, options->json);
    add_store(parser, options->store);
    return {&parser, options->store, [options] { return show(*options); }};
}

}  // namespace holdfast::cli
