#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/contender.hpp"
#include "port/pending.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/redis_wire.hpp"

namespace holdfast::inline v0::redis {

/// All lines whose resource starts with `prefix`, sorted: found by SCAN, a piece at a time, so that
/// a large server is not kept from its work. Wire and layout belong to `store`.
Pending<std::vector<Line>> list(RedisWire& wire, const Layout& layout,
                                std::weak_ptr<const void> store, std::string prefix);

/// The line of one resource, by a single request.
Pending<std::vector<Line>> look_at(RedisWire& wire, const Layout& layout,
                                   std::weak_ptr<const void> store, const std::string& resource);

}  // namespace holdfast::inline v0::redis
