#include "port/wire.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace holdfast::inline v0 {

namespace {
thread_local int callback_depth = 0;
}

CallbackScope::CallbackScope() noexcept {
    ++callback_depth;
}
CallbackScope::~CallbackScope() {
    --callback_depth;
}

bool inside_callback() noexcept {
    return callback_depth > 0;
}

void refuse_inside_callback() {
    if (inside_callback()) {
        throw std::logic_error("holdfast: waiting for a store inside one of its callbacks");
    }
}

int poll_timeout(std::optional<Moment> until) noexcept {
    if (!until) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - BootClock::now());
    return static_cast<int>(
        std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

Error out_of_descriptors() {
    return {errc::unreachable, "this process cannot open another descriptor (" +
                                   std::generic_category().message(errno) +
                                   "); close some, or raise the limit (ulimit -n)"};
}

Wire::State::~State() {
    if (interrupt >= 0) ::close(interrupt);
}

Wire::Wire() : state_(std::make_shared<State>()) {
    state_->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (state_->interrupt < 0) throw out_of_descriptors();
}

Wire::~Wire() {
    close();
}

bool Wire::wait(Waiter& waiter, std::optional<Moment> until) {
    Lock lock(state_->mutex);
    while (!waiter.signalled_) {
        if (until && BootClock::now() >= *until) break;
        if (state_->led) {
            follow(lock, waiter, until);
        } else {
            lead(lock, &waiter, until);
        }
    }
    const bool told = std::exchange(waiter.signalled_, false);
    pass_on(*state_);
    return told;
}

void Wire::signal(Waiter& waiter) {
    const std::lock_guard guard(state_->mutex);
    waiter.signalled_ = true;
    if (state_->leader == &waiter) {
        interrupt(*state_);
    } else {
        waiter.changed_.notify_one();
    }
}

void Wire::lead(Lock& lock, Waiter* waiter, std::optional<Moment> until) {
    State& state = *state_;
    state.led = true;
    state.leader = waiter;
    lock.unlock();
    Due due;
    std::exception_ptr failure;
    try {
        turn(until, due);
    } catch (...) {
        // Out of memory, say. The others must not wait for a leader that is gone.
        failure = std::current_exception();
    }
    lock.lock();
    state.led = false;
    state.leader = nullptr;
    if (due.empty() && !failure) return;
    // Nobody is woken to lead meanwhile: callbacks are short, and this thread leads on unless one
    // of them was for itself. A change of threads for every answer would cost more than it brings.
    lock.unlock();
    {
        const CallbackScope scope;
        for (const auto& callback : due) callback();
        due.clear();
    }
    lock.lock();
    if (!failure) return;
    pass_on(state);
    std::rethrow_exception(failure);
}

void Wire::follow(Lock& lock, Waiter& waiter, std::optional<Moment> until) {
    State& state = *state_;
    // The pump leads only while no caller is blocked: a caller that reads for itself is spared
    // a change of thread.
    if (state.leader == nullptr) interrupt(state);
    state.followers.push_back(&waiter);
    if (until) {
        waiter.changed_.wait_for(lock, *until - BootClock::now());
    } else {
        waiter.changed_.wait(lock);
    }
    std::erase(state.followers, &waiter);
}

void Wire::pass_on(State& state) {
    if (state.led) return;
    if (!state.followers.empty()) {
        state.followers.front()->changed_.notify_one();
    } else if (state.interests > 0) {
        state.pump_wanted.notify_one();
    }
}

void Wire::interrupt(const State& state) noexcept {
    const std::uint64_t one = 1;
    // The counter cannot overflow in practice, and a full one is readable all the same.
    static_cast<void>(!write(state.interrupt, &one, sizeof one));
}

int Wire::interrupt_descriptor() const noexcept {
    return state_->interrupt;
}

void Wire::take_interrupt() noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!read(state_->interrupt, &count, sizeof count));
}

void Wire::turn(std::optional<Moment> until, Due&) {
    pollfd interrupted{.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&interrupted, 1, poll_timeout(until)) > 0) take_interrupt();
}

Wire::Interest::~Interest() = default;

Wire::Interest Wire::interest() {
    const std::lock_guard guard(state_->mutex);
    ++state_->interests;
    if (!pump_.joinable() && !state_->closed && needs_pump()) {
        pump_ = std::thread([this, state = state_] { pump(state); });
    } else {
        pass_on(*state_);
    }
    const auto uncount = [state = state_](void*) {
        const std::lock_guard uncount_guard(state->mutex);
        --state->interests;
    };
    return Interest(std::shared_ptr<void>(state_.get(), uncount));
}

void Wire::pump(const std::shared_ptr<State>& state) {
    Lock lock(state->mutex);
    const auto wanted = [&] {
        return state->closed || (state->interests > 0 && !state->led && state->followers.empty());
    };
    // A callback may have destroyed this Wire: only `state` may be asked whether it did.
    while (state->pump_wanted.wait(lock, wanted), !state->closed) {
        lead(lock, nullptr, std::nullopt);
        pass_on(*state);
    }
}

void Wire::close() noexcept {
    {
        const std::lock_guard guard(state_->mutex);
        state_->closed = true;
        state_->pump_wanted.notify_one();
        interrupt(*state_);
    }
    if (!pump_.joinable()) return;
    if (pump_.get_id() == std::this_thread::get_id()) {
        pump_.detach();
    } else {
        pump_.join();
    }
}

}  // namespace holdfast::inline v0
