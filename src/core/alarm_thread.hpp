#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/alarm.hpp"

namespace holdfast::inline v0::core {

/// An Alarm with a thread of its own, started when it is first needed, that sleeps on a timerfd:
/// condition variables do not know CLOCK_BOOTTIME, so they would oversleep a suspended machine.
/// Setting a timer that is not the earliest costs no system call, nor does what is posted while the
/// thread works.
class AlarmThread final : public Alarm {
public:
    /// `name`: what the thread is called; it must live as long.
    explicit AlarmThread(const char* name = "holdfast-alarm");
    /// Ends the thread; what has not been called by then never is. May run on that thread itself.
    ~AlarmThread() override;

    void make_ready() override;
    void end() noexcept override;
    Timer at(Moment moment, Callback<void()> callback) override;
    void cancel(Timer timer) override;
    void post(Callback<void()> callback) override;

private:
    struct State {
        std::mutex mutex;
        std::vector<Callback<void()>> posted;
        std::map<std::pair<Moment, Timer>, Callback<void()>> timers;
        std::map<Timer, Moment> moments;
        Timer last = 0;
        Moment armed = Moment::max();
        bool awake = false;  ///< it looks for what there is before it sleeps again
        std::atomic<bool> closed{false};
        int descriptor = -1;

        ~State();
        void arm(Moment moment);
        /// By this moment at the latest the thread has something to do.
        void wake_at(Moment moment);
        void run_posted(std::unique_lock<std::mutex>& lock, std::vector<Callback<void()>>& batch);
        bool run_due(std::unique_lock<std::mutex>& lock);
        Callback<void()> take_due(Moment now);
    };
    static void run(const std::shared_ptr<State>& state);
    void start();

    const char* name_;
    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace holdfast::inline v0::core
