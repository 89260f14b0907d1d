#pragma once

#include <string>
#include <vector>

#include <holdfast/client.hpp>

#include "cli/table.hpp"

namespace holdfast::cli {

/// A contender and its state, for people: held, offered or waiting.
struct Listed {
    const ContenderInfo& contender;
    Table::Cell state;
};

/// The holders, and behind them the waiters in order. They stay the resource's.
std::vector<Listed> in_order(const ResourceInfo& resource);

/// Whether one of the holders has it: one that is merely offered it has not.
bool is_held(const ContenderInfo& holder);

/// What a contender's columns say, for people; "-" for what is not known.
std::string show_fence(const ContenderInfo& contender);
std::string show_lease(const ContenderInfo& contender);
std::string show_owner(const ContenderInfo& contender);
std::string show_share(const ContenderInfo& contender);
std::string show_age(const ContenderInfo& contender);
std::string show_host(const ContenderInfo& contender);
std::string show_pid(const ContenderInfo& contender);

/// The resource with exactly this name; without contenders when there are none.
ResourceInfo find(const Client& client, const std::string& name);

}  // namespace holdfast::cli
