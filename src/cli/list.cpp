#include "cli/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/store.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr const char* examples = R"(Examples:
  holdfast list            all that is held or waited for
  holdfast list jobs/      only what starts with jobs/
  holdfast list --json     an array of {"name", "holders": [...], "waiters": [...]})";

Json to_json(const std::vector<ContenderInfo>& contenders) {
    Json result = Json::array();
    for (const ContenderInfo& contender : contenders) {
        result.push_back({{"owner", contender.owner},
                          {"fence", contender.fence},
                          {"lease_left_ms", contender.lease_left.count()},
                          {"weight", contender.weight},
                          {"capacity", contender.capacity}});
    }
    return result;
}

void print_json(const std::vector<ResourceInfo>& resources) {
    Json result = Json::array();
    for (const ResourceInfo& resource : resources) {
        result.push_back({{"name", resource.name},
                          {"holders", to_json(resource.holders)},
                          {"waiters", to_json(resource.waiters)}});
    }
    // A name is any bytes, JSON is not: what is no UTF-8 is replaced rather than refused.
    fmt::print("{}\n", result.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string show_share(const ContenderInfo& contender) {
    if (contender.weight == contender.capacity) return "all";
    return fmt::format("{} of {}", contender.weight, contender.capacity);
}

void add_rows(std::vector<Row>& rows, const std::string& name, const char* state,
              const std::vector<ContenderInfo>& contenders) {
    for (const ContenderInfo& contender : contenders) {
        rows.push_back({visible(name), state, visible(contender.owner),
                        contender.fence == 0 ? "-" : fmt::format("{}", contender.fence),
                        show_duration(contender.lease_left), show_share(contender)});
    }
}

void print_rows(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
        }
        fmt::print("{}\n", line);
    }
}

void print_table(const std::vector<ResourceInfo>& resources) {
    std::vector<Row> rows{{"NAME", "STATE", "OWNER", "FENCE", "LEASE LEFT", "SHARE"}};
    for (const ResourceInfo& resource : resources) {
        add_rows(rows, resource.name, "held", resource.holders);
        add_rows(rows, resource.name, "waiting", resource.waiters);
    }
    if (rows.size() > 1) print_rows(rows);
}

/// Nobody shall take half a listing for all of it.
void finish_output() {
    if (std::fflush(stdout) != 0) {
        throw std::system_error(errno, std::generic_category(), "cannot write the listing");
    }
}

}  // namespace

CLI::App* add_list(CLI::App& program, ListOptions& options) {
    CLI::App* const command = program.add_subcommand("list", "Show who holds and who waits");
    command->formatter(std::make_shared<HelpWithUsage>("holdfast list [OPTION...] [PREFIX]"));
    command->add_option("PREFIX", options.prefix, "Only what starts with this");
    command->add_flag("--json", options.json, "For programs");
    add_store(*command, options.store);
    command->footer(examples);
    return command;
}

int list(const ListOptions& options) {
    const std::vector<ResourceInfo> resources = connect_to(options.store).inspect(options.prefix);
    if (options.json) {
        print_json(resources);
    } else {
        print_table(resources);
    }
    finish_output();
    return success;
}

}  // namespace holdfast::cli
