#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "stores/etcd/etcd.pb.h"
#include "stores/listed/neighbour.hpp"

namespace holdfast::inline v0::etcd {

namespace messages = ::holdfast_etcd;
using listed::Neighbour;

/// The keys of a resource, as Go's concurrency.Mutex and `etcdctl lock` have them: its name, a
/// slash and what tells the contender: the lease in hexadecimal digits and, of ours, the slot (see
/// Slots). The resource's name stands in them byte for byte.
std::string line_start(std::string_view resource);
std::string key_of(std::string_view resource, std::int64_t lease, std::uint64_t slot);
/// Of what is left when a contender was taken out before it came in. Not below the resource's name,
/// where others would wait for it.
std::string guard_of(std::string_view resource, const Nonce& nonce);

/// The resource whose line a key may be in: all before its last slash; nothing without one.
std::optional<std::string> resource_of(std::string_view key);

/// The first key behind all that begin like this.
std::string end_of(std::string start);

/// A contender of the line that begins like this: its node is the key, its order the create
/// revision. Nothing when it is none: what has a further slash belongs to another line, and what is
/// bound to no lease is nobody's. Theirs is bound to the lease that it names; ours may have been
/// bound to another one since.
std::optional<Neighbour> neighbour_of(const messages::KeyValue& pair, std::string_view start);

using Pairs = google::protobuf::RepeatedPtrField<messages::KeyValue>;
/// Those among them, in order.
std::vector<Neighbour> line_in(const Pairs& pairs, std::string_view start);

}  // namespace holdfast::inline v0::etcd
