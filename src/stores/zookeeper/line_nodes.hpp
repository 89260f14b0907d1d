#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "stores/listed/judgement.hpp"
#include "stores/zookeeper/operations.hpp"

namespace holdfast::inline v0::zookeeper {

using listed::Neighbour;

/// A contender as the name of its node tells it: ours, Curator's or kazoo's. Its order is the
/// sequence. Curator's have a nonce too, and are not ours all the same. Nothing when it is no
/// contender's.
std::optional<Neighbour> neighbour_of(std::string_view name);

/// The name that we ask for; the server adds the sequence.
std::string node_name(const Contender& contender);
/// What all names of this contender begin with.
std::string name_start(const Nonce& nonce);

/// The contenders among the children of a resource's node, in the order of the line. Others are
/// left out. The sequence may have wrapped: after 2147483647 comes -2147483648.
std::vector<Neighbour> line_in(std::string_view path, const std::vector<std::string>& children);
/// By the answer to list_children(): a resource without a node has nobody in its line.
std::vector<Neighbour> line_by(const Reply& listed, std::string_view path);

}  // namespace holdfast::inline v0::zookeeper
