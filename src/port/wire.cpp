#include "port/wire.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "port/fork.hpp"
#include "port/thread.hpp"

namespace holdfast::inline v0 {

namespace {

/// The scopes that the running thread is in. A child that is forked in one is in none.
int& callback_depth() noexcept {
    thread_local struct {
        std::uint64_t of;
        int depth;
    } scopes{};
    if (scopes.of != fork_generation()) scopes = {fork_generation(), 0};
    return scopes.depth;
}

}  // namespace

CallbackScope::CallbackScope() noexcept {
    ++callback_depth();
}
CallbackScope::~CallbackScope() {
    // In a child it may be the parent's.
    if (callback_depth() > 0) --callback_depth();
}

bool inside_callback() noexcept {
    return callback_depth() > 0;
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
            if (follow(lock, waiter, until)) return true;
        } else {
            lead(lock, &waiter, until);
        }
    }
    const bool told = std::exchange(waiter.signalled_, false);
    pass_on(*state_);
    return told;
}

void Wire::signal(Waiter& waiter) {
    Lock lock(state_->mutex);
    if (waiter.state_.load(std::memory_order_relaxed) != Waiter::asleep) {
        waiter.signalled_ = true;
        if (state_->leader == &waiter) interrupt();
        return;
    }
    state_->followers.erase(waiter.place_);
    // It may be gone as soon as it sees this; only its address is used below, and that by the
    // kernel.
    waiter.state_.store(Waiter::told, std::memory_order_release);
    lock.unlock();
    rouse(waiter);
}

void Wire::lead(Lock& lock, Waiter* waiter, std::optional<Moment> until) {
    State& state = *state_;
    state.led = true;
    state.leader = waiter;
    // Its room is used again: it is wanted in every turn.
    Due due = std::move(state.spare);
    lock.unlock();
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
    if (due.empty() && !failure) {
        state.spare = std::move(due);
        return;
    }
    // Nobody is woken to lead meanwhile: callbacks are short, and this thread leads on unless one
    // of them was for itself. A change of threads for every answer would cost more than it brings.
    lock.unlock();
    {
        const CallbackScope scope;
        for (const auto& callback : due) {
            try {
                callback();
            } catch (...) {
                // Out of memory, say. The others are called all the same.
                if (!failure) failure = std::current_exception();
            }
        }
        due.clear();
    }
    lock.lock();
    state.spare = std::move(due);
    if (!failure) return;
    pass_on(state);
    std::rethrow_exception(failure);
}

bool Wire::follow(Lock& lock, Waiter& waiter, std::optional<Moment> until) {
    State& state = *state_;
    // The pump leads only while no caller is blocked: a caller that reads for itself is spared
    // a change of thread.
    if (state.leader == nullptr) interrupt();
    waiter.place_ = state.followers.insert(state.followers.end(), &waiter);
    waiter.state_.store(Waiter::asleep, std::memory_order_relaxed);
    lock.unlock();
    sleep(waiter, until);
    if (waiter.state_.load(std::memory_order_acquire) == Waiter::told) {
        waiter.state_.store(Waiter::awake, std::memory_order_relaxed);
        return true;
    }
    lock.lock();
    // It may have been told or called while it waited for the lock.
    const auto found = waiter.state_.exchange(Waiter::awake, std::memory_order_acquire);
    if (found == Waiter::asleep) state.followers.erase(waiter.place_);
    if (found == Waiter::called) state.leader_called = false;
    if (found == Waiter::told) waiter.signalled_ = true;
    return false;
}

void Wire::sleep(Waiter& waiter, std::optional<Moment> until) {
    while (waiter.state_.load(std::memory_order_acquire) == Waiter::asleep) {
        timespec limit{};
        if (until) {
            const auto left = *until - BootClock::now();
            if (left.count() <= 0) return;
            limit = {.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000),
                     .tv_nsec = static_cast<long>(left.count() % 1'000'000'000)};
        }
        syscall(SYS_futex, &waiter.state_, FUTEX_WAIT_PRIVATE, Waiter::asleep,
                until ? &limit : nullptr, nullptr, 0);
    }
}

void Wire::rouse(Waiter& waiter) noexcept {
    syscall(SYS_futex, &waiter.state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Wire::pass_on(State& state) {
    if (state.led || state.leader_called) return;
    if (!state.followers.empty()) {
        Waiter& next = *state.followers.front();
        state.followers.pop_front();
        state.leader_called = true;
        next.state_.store(Waiter::called, std::memory_order_release);
        rouse(next);
    } else if (state.interests > 0) {
        state.pump_wanted.notify_one();
    }
}

void Wire::interrupt() noexcept {
    const std::uint64_t one = 1;
    // The counter cannot overflow in practice, and a full one is readable all the same.
    static_cast<void>(!write(state_->interrupt, &one, sizeof one));
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

Wire::Interest::~Interest() {
    if (!counts_) return;
    const std::lock_guard guard(counts_->mutex);
    --counts_->interests;
}

void Wire::start_pump() {
    if (pump_.joinable() || state_->closed || !needs_pump()) return;
    pump_ = start_thread("holdfast-pump", [this, state = state_] { pump(state); });
}

void Wire::make_ready() {
    const std::lock_guard guard(state_->mutex);
    start_pump();
}

Wire::Interest Wire::interest() {
    const std::lock_guard guard(state_->mutex);
    start_pump();
    ++state_->interests;
    pass_on(*state_);
    return Interest(state_);
}

void Wire::lead_by(Moment moment) {
    const std::lock_guard guard(state_->mutex);
    const bool is_named = state_->lead_by && *state_->lead_by <= moment;
    if (is_named || !pump_.joinable()) return;
    state_->lead_by = moment;
    state_->pump_wanted.notify_one();
}

/// Until somebody is interested and nobody leads, or it is time to lead all the same.
void Wire::await_work(State& state, Lock& lock) {
    while (!state.closed) {
        const bool nobody_leads = !state.led && !state.leader_called && state.followers.empty();
        if (state.interests > 0 && nobody_leads) return;
        if (!state.lead_by) {
            state.pump_wanted.wait(lock);
            continue;
        }
        const auto left = *state.lead_by - BootClock::now();
        if (left.count() > 0) {
            state.pump_wanted.wait_for(lock, left);
            continue;
        }
        state.lead_by.reset();
        if (nobody_leads) return;
    }
}

void Wire::pump(const std::shared_ptr<State>& state) {
    Lock lock(state->mutex);
    // A callback may have destroyed this Wire: only `state` may be asked whether it did.
    while (await_work(*state, lock), !state->closed) {
        try {
            // Without an interest it is but a glance.
            const bool is_expected = state->interests > 0;
            lead(lock, nullptr, is_expected ? std::nullopt : std::optional(BootClock::now()));
        } catch (const std::exception&) {
            // Out of memory, say: there is nobody here to be told. Those who wait have their time
            // limits, and the next turn may do better.
            state->pump_wanted.wait_for(lock, std::chrono::milliseconds{100},
                                        [&] { return state->closed; });
        }
        pass_on(*state);
    }
}

void Wire::end() noexcept {
    const std::lock_guard guard(state_->mutex);
    state_->closed = true;
    state_->pump_wanted.notify_one();
    interrupt();
}

void Wire::close() noexcept {
    end();
    if (!pump_.joinable()) return;
    if (pump_.get_id() == std::this_thread::get_id()) {
        pump_.detach();
    } else {
        pump_.join();
    }
}

}  // namespace holdfast::inline v0
