#pragma once

#include <string>
#include <vector>

#include "port/store_url.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/reply.hpp"

/// SCAN through all masters of a cluster as if it were one server: its cursor names the master too.
namespace holdfast::inline v0::redis {

bool is_scan(const Command& command);

/// One step, as the master gets it.
struct ScanPart {
    Command command;
    Host host;
    /// Where it goes on: before the cursor that the master answers, and in place of its last one.
    std::string here = {};
    std::string next = {};
};
/// `masters`: at least one. One that is no master any more is begun again at the next.
ScanPart part_of_scan(const Command& command, std::vector<Host> masters);
/// Makes the master's answer that of all.
void complete(const ScanPart& part, Reply& reply);

}  // namespace holdfast::inline v0::redis
