#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/acquisition.hpp"
#include "core/context.hpp"
#include "core/hold_state.hpp"

namespace holdfast::inline v0::core {

/// What an acquisition asks for, beside who asks.
struct Request {
    std::vector<Contender> contenders;
    /// Unset: without a limit. Only of contenders with Patience::wait.
    std::optional<std::chrono::nanoseconds> patience = std::nullopt;
    std::stop_token stop = {};
    /// What the patience counts from.
    Moment began = {};
};

/// How an acquisition ended.
struct Outcome {
    Acquisition::End end = Acquisition::End::none;
    std::shared_ptr<HoldState> hold = nullptr;      ///< when admitted
    std::optional<Failure> failure = std::nullopt;  ///< when it failed or was put out
    /// Which of the contenders it was about, as far as that is known.
    std::size_t failed_at = 0;
    /// Who contended, unless admitted.
    std::vector<Contender> contenders = {};
};

/// One try under way: the machine, and everything that it needs to hear of while it waits
/// (the watch, the keeper, the time limits, the stop_token). How its actions are awaited is left to
/// the two drivers below.
class Contest : public KeptListener, public std::enable_shared_from_this<Contest> {
public:
    Contest(std::shared_ptr<Context> context, Request request);

    void renewed(const Kept& kept, const Standing& standing) override;
    void overdue(const Kept& kept) override;

protected:
    using Event = Acquisition::Event;
    using Action = Acquisition::Action;

    /// Something is in the inbox.
    virtual void wake() = 0;

    void post(Event event);
    std::optional<Event> take_event();

    /// The first one. Whoever is stopped before it begins asks the store for nothing.
    Event beginning() const;
    Action resume(Event event) { return machine_.resume(std::move(event)); }
    /// That it was stopped, or its time is up, before what an answer brings is looked at: that
    /// goes no further then.
    void look_at_limits();
    /// From now on it hears that it is stopped, or its time is up.
    void hear_of_limits();
    /// Once it was stopped: waits for the answer under way for as long as that is worth.
    void await_last_answer();
    /// Asks the store for what the action wants. `consume(pending, to_event)` awaits the answer in
    /// the driver's way and turns it into the next event.
    template <class Consume>
    void perform(Action action, Consume consume);
    void begin_waiting(std::optional<std::chrono::nanoseconds> look_again);
    void look_at(Moment moment);
    void look_is_due(Moment moment);
    /// The end: a hold, or nothing left in line. `leave(tickets)` takes them out in the driver's
    /// way.
    template <class Leave>
    Outcome finish(Leave leave);
    /// The end by an exception: nothing left in line, in the background.
    void abandon();

    std::span<const Contender> contenders() const { return machine_.contenders(); }
    std::chrono::milliseconds lease() const { return machine_.contenders().front().lease; }
    /// Until its time is up; unset: it has none.
    std::optional<std::chrono::nanoseconds> time_left() const;
    Acquisition::End how_it_ended() const { return machine_.end(); }
    /// Whether it ended because the store was not heard of, or knows of another past.
    bool is_store_silent() const {
        return how_it_ended() == Acquisition::End::failed ||
               how_it_ended() == Acquisition::End::put_out;
    }
    /// In the background.
    void take_out(std::span<const Ticket> tickets);

    const std::shared_ptr<Context> context_;
    const std::stop_token stop_;

private:
    struct PostStop {
        Contest* contest;
        void operator()() const { contest->post(Acquisition::Stopped{}); }
    };

    template <class Consume>
    void enter(Moment sent, Consume consume);
    void prepare();
    Event entered(Result<std::vector<Entry>> result, Moment sent);
    Event asked(Result<Standing> result);
    Event claimed(Result<std::vector<Standing>> result, Moment sent);
    void note_admission(Kept& kept, const Standing& standing);
    void keep(const Entry& entry, Moment sent);
    void watch_current();
    void tidy_up();
    void keep_no_more();
    void end_wait();
    std::string_view name_of(std::size_t index) const;
    void at(Moment moment, Event event, Alarm::Timer& timer);
    Outcome admitted();

    Acquisition machine_;
    const std::optional<std::chrono::nanoseconds> patience_;  ///< of one that waits
    const Moment began_;
    std::shared_ptr<HoldState> hold_;
    std::vector<std::shared_ptr<Kept>> kept_;  ///< one for each contender
    std::size_t entered_ = 0;                  ///< so many of them are kept
    std::mutex keeping_mutex_;
    bool keeps_no_more_ = false;

    std::mutex inbox_mutex_;
    std::vector<Event> inbox_;
    std::optional<Moment> look_at_;  ///< until the alarm has called

    std::optional<std::stop_callback<PostStop>> stop_callback_;
    std::unique_ptr<Watch> watch_;
    std::optional<std::size_t> told_waiting_;  ///< for which contender the observer heard it
    std::optional<std::size_t> watched_index_;
    bool hears_of_limits_ = false;
    Alarm::Timer time_up_ = 0;
    Alarm::Timer last_answer_ = 0;
    Alarm::Timer look_again_ = 0;
};

/// One try on the caller's own thread, which does the store's I/O while it waits.
Outcome contend(const std::shared_ptr<Context>& context, Request request);

/// One try without a thread. `done` is called once, on the telling thread.
void contend_async(const std::shared_ptr<Context>& context, Request request,
                   Callback<void(Outcome)> done);

}  // namespace holdfast::inline v0::core
