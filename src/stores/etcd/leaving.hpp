#pragma once

#include <memory>

#include "stores/etcd/common.hpp"

namespace holdfast::inline v0::etcd {

/// Takes a contender out of line, whoever's it is. See Store::leave.
Pending<Standing> leave_line(const std::shared_ptr<Common>& common, const Ticket& ticket);

}  // namespace holdfast::inline v0::etcd
