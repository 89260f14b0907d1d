#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stores/etcd/line_keys.hpp"
#include "stores/listed/entrants.hpp"

namespace holdfast::inline v0::etcd {

/// How many operations or comparisons a server takes in one transaction, less some.
inline constexpr int most_operations = 100;

// What a transaction compares.

/// There is no such key.
messages::Compare absent(std::string key);
/// It is the one that this revision has made.
messages::Compare made_by(std::string key, std::int64_t revision);
/// This revision was the last to write it.
messages::Compare written_by(std::string key, std::int64_t revision);
/// No key that begins like this was made after that revision; 0: there is none.
messages::Compare none_since(const std::string& start, std::int64_t revision);

// What it does.

messages::RequestOp put(std::string key, std::string value, std::int64_t lease);
messages::RequestOp delete_key(std::string key);
messages::RequestOp read(std::string key);
/// Without its value.
messages::RequestOp read_key(std::string key);
/// All that begin like this, in the order in which they came; up to that revision, if one is given.
messages::RequestOp list(const std::string& start, std::int64_t up_to = 0);
/// The last of them, so many, the last one first.
messages::RequestOp list_last(int count, const std::string& start, std::int64_t up_to = 0);

/// Ends exactly this incarnation: a copy that comes late does not end the next one with its key.
messages::TxnRequest deletion_of(const listed::Incarnation& incarnation);

}  // namespace holdfast::inline v0::etcd
