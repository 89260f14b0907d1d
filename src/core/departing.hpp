#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/contender.hpp"

namespace holdfast::inline v0::core {

/// The resources that are being given back unwaited, on a store where what is asked for next may
/// pass that: whoever asks for one of them does so when it is answered.
/// Threads: all members may be called from any thread.
class Departing {
public:
    void begins(const std::string& resource);
    /// Calls those who have waited for it.
    void is_over(const std::string& resource);

    /// Calls back when none of them is being given back; at once, if that is so.
    void after(std::span<const Contender> contenders, Callback<void()> go);
    /// Waits for that, so long at the most.
    void await(std::span<const Contender> contenders, std::chrono::nanoseconds at_most);

private:
    struct Waiting {
        std::vector<std::string> resources;
        Callback<void()> go;
    };
    bool is_among(const std::vector<std::string>& resources) const;
    bool is_idle() const noexcept { return under_way_.load(std::memory_order_acquire) == 0; }

    std::mutex mutex_;
    std::atomic<std::size_t> under_way_{0};       ///< in all; whoever begins one sees it himself
    std::map<std::string, std::size_t> leaving_;  ///< and how often
    std::list<Waiting> waiting_;
};

}  // namespace holdfast::inline v0::core
