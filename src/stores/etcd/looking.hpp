#pragma once

#include <memory>

#include "stores/etcd/common.hpp"

namespace holdfast::inline v0::etcd {

/// Where a contender of ours stands now. See Store::standing.
Pending<Standing> look_at_member(const std::shared_ptr<Common>& common, const Member& member);

}  // namespace holdfast::inline v0::etcd
