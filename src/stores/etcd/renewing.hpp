#pragma once

#include <memory>
#include <span>
#include <vector>

#include "stores/etcd/common.hpp"

namespace holdfast::inline v0::etcd {

/// Keeps the leases of all tickets alive, with a look at each. See Store::renew.
Pending<std::vector<Standing>> renew_all(const std::shared_ptr<Common>& common,
                                         std::span<const Ticket> tickets, Extension extension);

}  // namespace holdfast::inline v0::etcd
