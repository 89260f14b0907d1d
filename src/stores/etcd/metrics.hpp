#pragma once

#include <optional>
#include <string_view>

#include "stores/net/address.hpp"

namespace holdfast::inline v0::etcd {

/// One number of a member's metrics, which it tells by HTTP where it serves clients, unless it is
/// set up otherwise. Nothing when it does not tell. Waits for connect_timeout at the most. For what
/// is not in its interface.
std::optional<double> metric(const net::Address& member, std::string_view name);

}  // namespace holdfast::inline v0::etcd
