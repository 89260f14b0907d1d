#pragma once

#include <memory>

#include "stores/zookeeper/common.hpp"

namespace holdfast::inline v0::zookeeper {

/// Takes a contender out of line, whoever's it is. See Store::leave.
Pending<Standing> leave_line(const std::shared_ptr<Common>& common, const Ticket& ticket);

}  // namespace holdfast::inline v0::zookeeper
