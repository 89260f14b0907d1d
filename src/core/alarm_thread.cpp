#include "core/alarm_thread.hpp"

#include <sys/timerfd.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "port/thread.hpp"
#include "port/wire.hpp"

namespace holdfast::inline v0::core {

AlarmThread::State::~State() {
    if (descriptor >= 0) ::close(descriptor);
}

void AlarmThread::State::arm(Moment moment) {
    armed = moment;
    // Zero would disarm it.
    const auto count = std::max<std::int64_t>(moment.time_since_epoch().count(), 1);
    const itimerspec when{
        .it_interval = {},
        .it_value = {.tv_sec = count / 1'000'000'000, .tv_nsec = count % 1'000'000'000}};
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, nullptr);
}

Callback<void()> AlarmThread::State::take_due(Moment now) {
    if (timers.empty() || timers.begin()->first.first > now) return {};
    auto node = timers.extract(timers.begin());
    moments.erase(node.key().second);
    return std::move(node.mapped());
}

AlarmThread::AlarmThread(const char* name) : name_(name), state_(std::make_shared<State>()) {
    state_->descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (state_->descriptor < 0) throw out_of_descriptors();
}

void AlarmThread::end() noexcept {
    const std::lock_guard guard(state_->mutex);
    state_->closed = true;
    state_->arm(Moment{});
}

AlarmThread::~AlarmThread() {
    end();
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void AlarmThread::make_ready() {
    const std::lock_guard guard(state_->mutex);
    start();
}

void AlarmThread::start() {
    if (thread_.joinable() || state_->closed) return;
    thread_ = start_thread(name_, [state = state_] { run(state); });
}

Alarm::Timer AlarmThread::at(Moment moment, Callback<void()> callback) {
    const std::lock_guard guard(state_->mutex);
    const Timer timer = ++state_->last;
    state_->timers.emplace(std::pair{moment, timer}, std::move(callback));
    state_->moments.emplace(timer, moment);
    if (moment < state_->armed) state_->arm(moment);
    start();
    return timer;
}

void AlarmThread::cancel(Timer timer) {
    Callback<void()> dropped;
    const std::lock_guard guard(state_->mutex);
    const auto moment = state_->moments.find(timer);
    if (moment == state_->moments.end()) return;
    const auto entry = state_->timers.find({moment->second, timer});
    dropped = std::move(entry->second);
    state_->timers.erase(entry);
    state_->moments.erase(moment);
}

void AlarmThread::post(Callback<void()> callback) {
    at(Moment{}, std::move(callback));
}

void AlarmThread::run(const std::shared_ptr<State>& state) {
    for (;;) {
        std::uint64_t expirations = 0;
        if (read(state->descriptor, &expirations, sizeof expirations) < 0 && errno != EINTR) return;
        std::unique_lock lock(state->mutex);
        while (!state->closed) {
            auto callback = state->take_due(BootClock::now());
            if (!callback) break;
            lock.unlock();
            callback();
            callback = {};
            lock.lock();
        }
        if (state->closed) return;
        state->armed = Moment::max();
        if (!state->timers.empty()) state->arm(state->timers.begin()->first.first);
    }
}

}  // namespace holdfast::inline v0::core
