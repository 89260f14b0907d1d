#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

namespace holdfast::inline v0::zookeeper {

/// The paths that something was seen of, for a hint: when they are too many, they are forgotten.
/// Threads: all members may be called from any thread.
class Sightings {
public:
    void add(const std::string& path) {
        constexpr std::size_t most_remembered = 4096;
        const std::lock_guard guard(mutex_);
        if (paths_.size() >= most_remembered) paths_.clear();
        paths_.insert(path);
    }
    void remove(const std::string& path) {
        const std::lock_guard guard(mutex_);
        paths_.erase(path);
    }
    bool contains(const std::string& path) const {
        const std::lock_guard guard(mutex_);
        return paths_.contains(path);
    }

private:
    mutable std::mutex mutex_;
    std::set<std::string> paths_;
};

}  // namespace holdfast::inline v0::zookeeper
