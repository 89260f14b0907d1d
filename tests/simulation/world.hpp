#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <holdfast/callback.hpp>

#include "core/alarm.hpp"
#include "port/clock.hpp"
#include "simulation/random.hpp"

namespace holdfast::simulation {

/// Who an event happens to: a process, or the world itself.
using Who = int;
inline constexpr Who the_world = -1;

/// Time, and everything that is going to happen. One thread; nothing happens but in step().
class World {
public:
    using EventId = std::uint64_t;

    Time now() const noexcept { return now_; }
    EventId at(Time when, Who who, Callback<void()> what);
    void cancel(EventId event);

    /// Runs the next event, or holds it back or drops it when it concerns one that is paused or
    /// crashed. False when there is none.
    bool step();
    /// Whether the next event comes later than now.
    bool instant_over() const { return events_.empty() || events_.begin()->first.first > now_; }

    void crash(Who who) { crashed_.insert(who); }
    void revive(Who who) { crashed_.erase(who); }
    bool crashed(Who who) const { return crashed_.contains(who); }
    /// What happens to it until then happens then, in order.
    void pause(Who who, Time until) { paused_[who] = until; }
    bool paused(Who who) const;
    /// When it last stood still, or `Time{}`.
    Time paused_until(Who who) const;

    /// Forgets all that is still to come.
    void clear();

    /// Told what happens, when somebody listens.
    void trace(const std::function<std::string()>& what) const {
        if (listener) listener(now_, what());
    }
    std::function<void(Time, const std::string&)> listener;

private:
    using Key = std::pair<Time, std::uint64_t>;
    struct Event {
        EventId id = 0;
        Who who = the_world;
        Callback<void()> what;
    };
    void put(Time when, Event event);

    Time now_{0};
    std::uint64_t last_key_ = 0;
    EventId last_event_ = 0;
    std::map<Key, Event> events_;
    std::map<EventId, Key> keys_;
    std::set<Who> crashed_;
    std::map<Who, Time> paused_;
};

/// The clock of one machine: started at some other time than the others, and a little too fast or
/// too slow.
class MachineClock final : public Clock {
public:
    MachineClock(const World& world, Time booted_before, std::int64_t drift_ppm)
        : world_(world), booted_before_(booted_before), drift_ppm_(drift_ppm) {}

    Moment now() const noexcept override { return at(world_.now()); }
    std::uint64_t wall_microseconds() const noexcept override;
    /// The first time at which this clock shows `moment` or more; not before now.
    Time when(Moment moment) const;

    /// Sets the wall clock.
    void jump(std::chrono::microseconds by) { wall_jumps_ += by; }

private:
    Moment at(Time time) const noexcept {
        return Moment{booted_before_ + time + Time(time.count() / 1'000'000 * drift_ppm_)};
    }

    const World& world_;
    Time booted_before_;
    std::int64_t drift_ppm_;
    std::chrono::microseconds wall_jumps_{0};
};

/// An alarm of one process.
class SimulatedAlarm final : public core::Alarm {
public:
    SimulatedAlarm(World& world, const MachineClock& clock, Who who)
        : world_(world), clock_(clock), who_(who) {}
    ~SimulatedAlarm() override;

    Timer at(Moment moment, Callback<void()> callback) override;
    void cancel(Timer timer) override;
    void post(Callback<void()> callback) override;

    /// Whether timers are forgotten: a fault that must be found out.
    bool asleep = false;

private:
    Timer set(Time when, Callback<void()> callback);

    World& world_;
    const MachineClock& clock_;
    Who who_;
    std::set<Timer> timers_;
};

}  // namespace holdfast::simulation
