#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "port/contender.hpp"

namespace holdfast::inline v0::etcd {

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
    /// Its number is taken by what nobody knows of, and is not used again.
    void retire(const Nonce& nonce);

private:
    std::mutex mutex_;
    std::map<Nonce, std::uint64_t> taken_;
    std::set<std::uint64_t> free_;
    std::uint64_t next_ = 0;  ///< that was never taken
};

}  // namespace holdfast::inline v0::etcd
