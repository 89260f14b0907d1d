#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <holdfast/export.hpp>

#include "port/store.hpp"

namespace holdfast::inline v0 {

/// The watches of one client of a store, for the store to call.
/// Threads: all members may be called from any thread, with no lock of the store held.
class HOLDFAST_EXPORT Watchers : public std::enable_shared_from_this<Watchers> {
public:
    /// Calls `line_moved` whenever its nonce is called, until the Watch is destroyed; its
    /// destructor waits for a call in progress on another thread.
    std::unique_ptr<Watch> add(const Nonce& nonce, LineMoved line_moved);

    /// Whether somebody watches it.
    bool watches(const Nonce& nonce);
    /// All that are watched now.
    std::vector<Nonce> watched();

    /// Does nothing when nobody watches.
    void call(const Nonce& nonce, const Standing& standing);

private:
    struct Entry {
        LineMoved line_moved;
        int calls_in_progress = 0;
    };
    class Registered;
    void remove(const Nonce& nonce, const std::shared_ptr<Entry>& entry);

    std::mutex mutex_;
    std::condition_variable call_ended_;
    std::map<Nonce, std::shared_ptr<Entry>> entries_;
};

}  // namespace holdfast::inline v0
