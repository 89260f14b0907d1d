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

void AlarmThread::State::wake_at(Moment moment) {
    if (!awake && moment < armed) arm(moment);
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
    state_->wake_at(moment);
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
    const std::lock_guard guard(state_->mutex);
    state_->posted.push_back(std::move(callback));
    state_->wake_at(Moment{});
    start();
}

/// All that there are by now: those who post are not held up by those who are called.
void AlarmThread::State::run_posted(std::unique_lock<std::mutex>& lock,
                                    std::vector<Callback<void()>>& batch) {
    batch.swap(posted);
    lock.unlock();
    for (Callback<void()>& callback : batch) {
        if (closed) break;
        callback();
        callback = {};
    }
    batch.clear();
    lock.lock();
}

/// Whether there was one.
bool AlarmThread::State::run_due(std::unique_lock<std::mutex>& lock) {
    auto callback = take_due(BootClock::now());
    if (!callback) return false;
    lock.unlock();
    callback();
    callback = {};
    lock.lock();
    return true;
}

void AlarmThread::run(const std::shared_ptr<State>& state) {
    std::vector<Callback<void()>> batch;
    for (;;) {
        std::uint64_t expirations = 0;
        if (read(state->descriptor, &expirations, sizeof expirations) < 0 && errno != EINTR) return;
        std::unique_lock lock(state->mutex);
        state->awake = true;
        // In turns, so that no crowd of either kind keeps the other from its time.
        for (bool more = true; more && !state->closed;) {
            more = !state->posted.empty();
            if (more) state->run_posted(lock, batch);
            if (!state->closed && state->run_due(lock)) more = true;
        }
        if (state->closed) return;
        state->awake = false;
        state->armed = Moment::max();
        if (!state->timers.empty()) state->arm(state->timers.begin()->first.first);
    }
}

}  // namespace holdfast::inline v0::core
