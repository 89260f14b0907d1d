#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/redlock/quorum.hpp"

namespace holdfast::inline v0::redlock {

/// One question that was put to all nodes, about one who is in or was, until it is decided.
/// Callbacks of several turns may run at the same time.
class Canvass : public std::enable_shared_from_this<Canvass> {
public:
    using Told = Callback<void(Decision)>;

    enum class Ends : std::uint8_t {
        once_decided,
        with_all,  ///< when all have answered, but for those who take too long
    };
    /// `told` is called once: admitted, gone or too_few.
    Canvass(Desk desk, Told told, Ends ends = Ends::once_decided)
        : desk_(std::move(desk)), ends_(ends), told_(std::move(told)), tally_(desk_.terms()) {}

    /// What a node has answered, or what is known of it without asking. How it is decided by now,
    /// also when that was told before.
    Decision take(std::size_t node, const Vote& vote);
    Moment began() const noexcept { return began_; }

private:
    void give_up();
    void look(std::unique_lock<std::mutex> lock);

    const Desk desk_;
    const Ends ends_;
    const Moment began_ = BootClock::now();
    std::mutex mutex_;
    Told told_;  ///< empty once it was called
    Tally tally_;
    bool is_waited_for_ = false;  ///< the others are, for a while
};

}  // namespace holdfast::inline v0::redlock
