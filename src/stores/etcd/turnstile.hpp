#pragma once

#include <list>
#include <map>
#include <mutex>
#include <string>

#include <holdfast/callback.hpp>

namespace holdfast::inline v0::etcd {

/// Lets contenders of one client into a line one after the other, in the order in which they were
/// asked for: a server works on all requests of a connection at once.
/// Threads: all members may be called from any thread.
class Turnstile {
public:
    /// Calls `go` when all that came before it are through: at once when there are none.
    void enter(const std::string& line, Callback<void()> go);
    void is_through(const std::string& line);

private:
    std::mutex mutex_;
    /// Of lines that somebody is about to come into: those behind it.
    std::map<std::string, std::list<Callback<void()>>> waiting_;
};

}  // namespace holdfast::inline v0::etcd
