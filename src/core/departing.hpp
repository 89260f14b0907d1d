#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/contender.hpp"
#include "port/wire.hpp"

namespace holdfast::inline v0::core {

/// The resources that are being given back unwaited, on a store where what is asked for next may
/// pass that: whoever asks for one of them does so when it is answered. Nobody waits for what began
/// to be given back after he asked, or others could keep him for ever.
/// Threads: all members may be called from any thread.
class Departing {
public:
    /// The number of the departure.
    std::uint64_t begins(const std::string& resource);
    /// Calls those who have waited for it.
    void is_over(const std::string& resource, std::uint64_t number);

    /// Calls back when none of them is being given back; at once, if that is so.
    void after(std::span<const Contender> contenders, Callback<void()> go);
    /// Waits for that on the caller's own thread, which does the store's I/O meanwhile: so long at
    /// the most, and until it is stopped.
    void await(std::span<const Contender> contenders, Wire& wire, std::chrono::nanoseconds at_most,
               const std::stop_token& stop);

private:
    struct Waiting {
        std::vector<std::string> resources;
        std::uint64_t last;  ///< the number of the last departure that it waits for
        Callback<void()> go;
    };
    bool is_among(const std::vector<std::string>& resources, std::uint64_t last) const;
    bool is_idle() const noexcept { return under_way_.load(std::memory_order_acquire) == 0; }

    std::mutex mutex_;
    std::atomic<std::size_t> under_way_{0};  ///< in all; whoever begins one sees it himself
    std::uint64_t last_ = 0;                 ///< the number of the last one that began
    std::set<std::pair<std::string, std::uint64_t>> leaving_;  ///< with their numbers
    std::list<Waiting> waiting_;
};

}  // namespace holdfast::inline v0::core
