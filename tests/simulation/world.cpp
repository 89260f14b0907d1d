#include "simulation/world.hpp"

#include <algorithm>
#include <memory>

namespace holdfast::simulation {

World::EventId World::at(Time when, Who who, Callback<void()> what) {
    const EventId id = ++last_event_;
    put(std::max(when, now_), {.id = id, .who = who, .what = std::move(what)});
    return id;
}

void World::put(Time when, Event event) {
    const Key key{when, ++last_key_};
    keys_[event.id] = key;
    events_.emplace(key, std::move(event));
}

void World::cancel(EventId event) {
    const auto key = keys_.find(event);
    if (key == keys_.end()) return;
    // What the callback owns may cancel more when it goes.
    const auto dropped = events_.extract(key->second);
    keys_.erase(key);
}

bool World::step() {
    if (events_.empty()) return false;
    auto node = events_.extract(events_.begin());
    now_ = node.key().first;
    Event event = std::move(node.mapped());
    keys_.erase(event.id);
    if (crashed(event.who)) return true;
    if (paused(event.who)) {
        put(paused_[event.who], std::move(event));
        return true;
    }
    event.what();
    return true;
}

bool World::paused(Who who) const {
    return paused_until(who) > now_;
}

Time World::paused_until(Who who) const {
    const auto found = paused_.find(who);
    return found == paused_.end() ? Time{} : found->second;
}

void World::clear() {
    while (!events_.empty()) {
        const auto dropped = events_.extract(events_.begin());
        keys_.erase(dropped.mapped().id);
    }
}

std::uint64_t MachineClock::wall_microseconds() const noexcept {
    constexpr std::int64_t epoch = 1'700'000'000'000'000;
    return static_cast<std::uint64_t>(epoch + world_.now().count() / 1000 + wall_jumps_.count());
}

Time MachineClock::when(Moment moment) const {
    const auto shown = (moment.time_since_epoch() - booted_before_).count();
    Time time(
        std::max<std::int64_t>(shown / 1000 * 1'000'000 / (1'000'000 + drift_ppm_) * 1000, 0));
    // Close enough to walk the rest.
    while (at(time) < moment) time += std::max<Time>(moment - at(time), Time{1});
    return std::max(time, world_.now());
}

SimulatedAlarm::~SimulatedAlarm() {
    for (const Timer timer : timers_) world_.cancel(timer);
}

core::Alarm::Timer SimulatedAlarm::at(Moment moment, Callback<void()> callback) {
    if (asleep) return 0;
    return set(clock_.when(moment), std::move(callback));
}

void SimulatedAlarm::post(Callback<void()> callback) {
    set(world_.now(), std::move(callback));
}

core::Alarm::Timer SimulatedAlarm::set(Time when, Callback<void()> callback) {
    const auto timer = std::make_shared<Timer>(0);
    // Destroyed by its own callback, it must not be touched after the call.
    *timer = world_.at(when, who_, [this, timer, callback = std::move(callback)] {
        timers_.erase(*timer);
        callback();
    });
    timers_.insert(*timer);
    return *timer;
}

void SimulatedAlarm::cancel(Timer timer) {
    if (timers_.erase(timer) > 0) world_.cancel(timer);
}

}  // namespace holdfast::simulation
