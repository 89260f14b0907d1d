#include "core/gate.hpp"

#include <atomic>

namespace holdfast::inline v0::core {

std::uint64_t number_of_this_thread() noexcept {
    static std::atomic<std::uint64_t> last{0};
    thread_local const std::uint64_t number = ++last;
    return number;
}

bool Gate::enter(std::optional<std::chrono::nanoseconds> patience) {
    std::unique_lock lock(mutex_);
    if (closed_ && !wait_turn(lock, patience)) return false;
    closed_ = true;
    owner_ = number_of_this_thread();
    return true;
}

bool Gate::wait_turn(std::unique_lock<std::mutex>& lock,
                     std::optional<std::chrono::nanoseconds> patience) {
    if (patience && patience->count() <= 0) return false;
    Waiting waiting;
    line_.push_back(&waiting);
    const auto admitted = [&] { return waiting.admitted; };
    if (!patience) {
        waiting.called.wait(lock, admitted);
    } else {
        waiting.called.wait_for(lock, *patience, admitted);
    }
    if (!waiting.admitted) std::erase(line_, &waiting);
    return waiting.admitted;
}

void Gate::leave() {
    const std::lock_guard guard(mutex_);
    owner_ = 0;
    if (line_.empty()) {
        closed_ = false;
        return;
    }
    // It stays closed for everybody else: the turn is handed over.
    line_.front()->admitted = true;
    line_.front()->called.notify_one();
    line_.pop_front();
}

bool Gate::mine() const {
    const std::lock_guard guard(mutex_);
    return owner_ == number_of_this_thread();
}

}  // namespace holdfast::inline v0::core
