#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "stores/etcd/etcd.pb.h"
#include "stores/listed/judgement.hpp"

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

/// Small numbers that tell the contenders of one client from each other in their keys, and are used
/// again: a server remembers every key that there ever was until it is compacted, and reads through
/// all of a line's to list it.
/// Threads: all members may be called from any thread.
class Slots {
public:
    /// The one that this contender has, or has now.
    std::uint64_t take(const Nonce& nonce);
    /// It has no key any more, and will have none.
    void give_back(const Nonce& nonce);
    /// Its number, if it has one, is not used again: what nobody knows of has it, or a deletion of
    /// its key is under way.
    std::optional<std::uint64_t> retire(const Nonce& nonce);
    /// One that was retired may be used again.
    void free(std::uint64_t number);

private:
    std::mutex mutex_;
    std::map<Nonce, std::uint64_t> taken_;
    std::set<std::uint64_t> free_;
    std::uint64_t next_ = 0;  ///< that was never taken
};

}  // namespace holdfast::inline v0::etcd
