#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "stores/zookeeper/common.hpp"

namespace holdfast::inline v0::zookeeper {

/// For each session one write for all its tickets, and behind it a look at each. See Store::renew.
Pending<std::vector<Standing>> renew_all(const std::shared_ptr<Common>& common,
                                         std::span<const Ticket> tickets,
                                         std::chrono::milliseconds lease);

}  // namespace holdfast::inline v0::zookeeper
