#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

namespace holdfast::inline v0::zookeeper {

/// Tells what was read in the order in which it was read. The callbacks of one turn of the wire may
/// run after those of the next, on another thread: an own node's end must not be told after the end
/// of the node before it, which would be an admission.
class InOrder {
public:
    /// Adds to `due` what tells this, and all that was read before it.
    void tell(Callback<void()> news, std::vector<Callback<void()>>& due) {
        {
            const std::lock_guard guard(state_->mutex);
            state_->untold.emplace_back(std::move(news));
        }
        due.emplace_back([state = state_] { tell_all(*state); });
    }

private:
    struct State {
        std::mutex mutex;
        std::deque<Callback<void()>> untold;
        bool telling = false;  ///< somebody does, and tells the rest, too
    };

    static void tell_all(State& state) {
        std::unique_lock lock(state.mutex);
        if (std::exchange(state.telling, true)) return;
        while (!state.untold.empty()) {
            const auto news = std::move(state.untold.front());
            state.untold.pop_front();
            lock.unlock();
            news();
            lock.lock();
        }
        state.telling = false;
    }

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace holdfast::inline v0::zookeeper
