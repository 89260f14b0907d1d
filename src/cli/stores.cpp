#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/stores.hpp>

#include "cli/arguments.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/format.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"
#include "cli/table.hpp"

namespace holdfast::cli {
namespace {

/// What `holdfast stores` was asked for.
struct StoresOptions {
    std::string store;  ///< none: it is about all of them
    bool json = false;
};

constexpr const char* stores_examples = R"(Examples:
  holdfast stores            what each store promises, and which are in this build
  holdfast stores --json     the same for programs

SURVIVES: what may befall the store's servers without letting two hold one lock; with a * only where
they, or the URL, are set up for it: holdfast check URL tells. SEVERAL: how several locks are taken.
WAITERS look by themselves where nobody tells them. DEAD HOLDER: when its place is free. TRIPS: to
the server and back, for a free lock, taken and given back. Which store for which need:
docs/choosing.md)";

std::string yes_or_no(bool yes) {
    return yes ? "yes" : "no";
}

std::string show_reach(Reach reach) {
    switch (reach) {
        case Reach::process:
            return "one process";
        case Reach::machine:
            return "one machine";
        case Reach::network:
            break;
    }
    return "all machines";
}

void add_survived(std::vector<std::string>& survived, const std::string& what, Survival how) {
    if (how == Survival::yes) survived.push_back(what);
    if (how == Survival::if_set_up) survived.push_back(what + "*");
}

std::string show_survival(const Capabilities& can) {
    if (can.survives_restart == Survival::no_server) return "no server to fail";
    std::vector<std::string> survived;
    add_survived(survived, "restart", can.survives_restart);
    add_survived(survived, "failover", can.survives_failover);
    return survived.empty() ? "nothing" : joined(survived, ", ");
}

std::string show_order(const Capabilities& can) {
    if (!can.fifo) return "barging";
    if (!can.barging) return "fifo";
    return can.barging_shares ? "fifo, barging" : "fifo, barging (mutex)";
}

std::string show_waking(Waking waking) {
    switch (waking) {
        case Waking::told:
            return "told";
        case Waking::told_and_looks:
            return "told, look too";
        case Waking::looks:
            break;
    }
    return "look";
}

std::string show_leases(const Capabilities& can) {
    std::string shortest =
        can.shortest_lease ? show_duration(*can.shortest_lease) : "as servers grant";
    if (!can.longest_lease_is.empty()) {
        return can.shortest_lease ? shortest + " to what the URL says" : shortest;
    }
    return shortest + " to " + show_duration(can.longest_lease);
}

Table table_of_stores() {
    return Table({{"STORE"},
                  {"FOR"},
                  {"SURVIVES"},
                  {"FENCE"},
                  {"ORDER"},
                  {"READERS"},
                  {"PERMITS"},
                  {"SEVERAL"},
                  {"RE-ENTRY"},
                  {"WAITERS"},
                  {"DEAD HOLDER"},
                  {"LEASE"},
                  {"TRIPS"},
                  {"BUILT"}});
}

Table::Row row_of(const StoreInfo& store) {
    const Capabilities& can = store.can;
    return {{std::string(store.name)},
            {show_reach(can.reach)},
            {show_survival(can)},
            {can.fences ? "rises" : "none"},
            {show_order(can)},
            {yes_or_no(can.shared)},
            {yes_or_no(can.permits)},
            {can.enter_together ? "at once" : "one by one"},
            {yes_or_no(can.reenter)},
            {show_waking(can.waking)},
            {can.freeing == Freeing::at_once ? "at once" : "its lease ends"},
            {show_leases(can)},
            {formatted("{}", can.round_trips)},
            {yes_or_no(store.in_this_build)}};
}

int print_stores(const StoresOptions& options) {
    const std::vector<StoreInfo> known = stores();
    if (options.json) {
        print(json_of(known));
        return success;
    }
    Table table = table_of_stores();
    for (const StoreInfo& store : known) table.add(row_of(store));
    print(table.text(colour_of_output()));
    return success;
}

}  // namespace

Subcommand add_stores(CLI::App& program) {
    const auto options = std::make_shared<StoresOptions>();
    CLI::App& parser = add_subcommand(program, {.name = "stores",
                                                .summary = "Show what each store promises",
                                                .usage = "holdfast stores [--json]",
                                                .examples = stores_examples});
    add_json(parser, options->json);
    return {&parser, options->store, [options] { return print_stores(*options); }};
}

}  // namespace holdfast::cli
