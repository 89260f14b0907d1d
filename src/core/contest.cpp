#include "core/contest.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;
using Do = Acquisition::Do;
using End = Acquisition::End;

namespace {

/// How long whoever is stopped waits for a store. One that answers at all does so by then, mostly;
/// what comes later is taken out of line in the background.
constexpr auto patience_once_stopped = 250ms;

WaitEnd wait_end(End end) {
    switch (end) {
        case End::admitted:
            return WaitEnd::admitted;
        case End::busy:
        case End::stopped:
            return WaitEnd::given_up;
        case End::put_out:
            return WaitEnd::put_out;
        case End::none:
        case End::failed:
            break;
    }
    return WaitEnd::failed;
}

/// Whoever does not is done with the first answer for each.
bool waits(const Acquisition& machine) {
    return machine.contenders().front().patience == Patience::wait;
}

bool is_answer(const Acquisition::Event& event) {
    return std::holds_alternative<Acquisition::Entered>(event) ||
           std::holds_alternative<Acquisition::Asked>(event) ||
           std::holds_alternative<Acquisition::Claimed>(event);
}

}  // namespace

Contest::Contest(std::shared_ptr<Context> context, Request request)
    : context_(std::move(context)),
      stop_(std::move(request.stop)),
      machine_(std::move(request.contenders), context_->store().capabilities().enter_together),
      patience_(waits(machine_) ? request.patience : std::nullopt),
      began_(request.began) {}

Contest::Event Contest::beginning() const {
    if (stop_.stop_requested()) return Acquisition::Stopped{};
    return Acquisition::Started{};
}

void Contest::post(Event event) {
    {
        const std::lock_guard guard(inbox_mutex_);
        inbox_.push_back(std::move(event));
    }
    wake();
}

std::optional<Contest::Event> Contest::take_event() {
    const std::lock_guard guard(inbox_mutex_);
    if (inbox_.empty()) return std::nullopt;
    Event event = std::move(inbox_.front());
    inbox_.erase(inbox_.begin());
    return event;
}

template <class Consume>
void Contest::perform(Action action, Consume consume) {
    Store& store = context_->store();
    const Moment sent = context_->clock().now();
    switch (action.what) {
        case Do::enter:
            enter(sent, consume);
            break;
        case Do::ask:
            consume(store.standing(machine_.waiting()),
                    [this](auto result) { return asked(std::move(result)); });
            break;
        case Do::claim:
            consume(store.renew({&machine_.waiting(), 1},
                                {machine_.contenders()[machine_.waiting_index()].lease, sent}),
                    [this, sent](auto result) { return claimed(std::move(result), sent); });
            break;
        case Do::wait:
        case Do::pass:
        case Do::finish:
            break;
    }
}

template <class Consume>
void Contest::enter(Moment sent, Consume consume) {
    auto pending = context_->store().enter(machine_.to_enter());
    // While the server works: whoever waits for its answer goes on the sooner after it.
    prepare();
    consume(std::move(pending),
            [this, sent](auto result) { return entered(std::move(result), sent); });
}

/// What it takes to be admitted.
void Contest::prepare() {
    if (hold_) return;
    const auto& contenders = machine_.contenders();
    hold_ = std::make_shared<HoldState>(
        context_, std::string(context_->name_of(contenders.front().resource)));
    kept_.reserve(contenders.size());
    for (const Contender& one : contenders) {
        kept_.push_back(std::make_shared<Kept>(one.lease, kept_.size()));
    }
}

Contest::Event Contest::entered(Result<std::vector<Entry>> result, Moment sent) {
    if (result.ok() && result.value().back().standing.state != Standing::State::gone) {
        for (const Entry& entry : result.value()) keep(entry, sent);
    }
    return Acquisition::Entered{std::move(result)};
}

/// Not when it has ended meanwhile: what comes in then was looked for by its nonce, perhaps before
/// it had a place, and is taken out of that.
void Contest::keep(const Entry& entry, Moment sent) {
    {
        const std::lock_guard guard(keeping_mutex_);
        if (!keeps_no_more_) {
            const auto& kept = kept_[entered_++];
            note_admission(*kept, entry.standing);
            return context_->keeper().keep(
                kept, entry.ticket, entry.standing.counted_from.value_or(sent), shared_from_this());
        }
    }
    if (!kept_.empty()) context_->take_out(entry.ticket, kept_.front()->lease());
}

/// Tells the keeper of an admission: from here on nothing but the same answer keeps it.
void Contest::note_admission(Kept& kept, const Standing& standing) {
    if (standing.state != Standing::State::admitted) return;
    context_->keeper().admitted(kept, standing.fence);
}

Contest::Event Contest::asked(Result<Standing> result) {
    if (result.ok()) note_admission(*kept_[entered_ - 1], result.value());
    return Acquisition::Asked{std::move(result)};
}

Contest::Event Contest::claimed(Result<std::vector<Standing>> result, Moment sent) {
    if (result.ok()) {
        const Standing& standing = result.value().front();
        note_admission(*kept_[entered_ - 1], standing);
        if (standing.state != Standing::State::gone) {
            context_->keeper().confirm(*kept_[entered_ - 1], standing.counted_from.value_or(sent));
        }
    }
    return Acquisition::Claimed{std::move(result)};
}

void Contest::renewed(const Kept& kept, const Standing& standing) {
    // That it still waits is no news, unless it is the stand-by and learns when to look again.
    if (standing.state == Standing::State::waiting && !standing.look_again) return;
    post(Acquisition::Renewed{kept.index(), standing});
}

void Contest::overdue(const Kept&) {
    // What follows may ask the store for something, and a store may take its time: not on the
    // thread that tells of losses.
    context_->renewing().post([weak = weak_from_this(), said = context_->keeper().last_failure()] {
        if (const auto self = weak.lock()) self->post(Acquisition::Overdue{said});
    });
}

std::string_view Contest::name_of(std::size_t index) const {
    return context_->name_of(machine_.contenders()[index].resource);
}

std::optional<std::chrono::nanoseconds> Contest::time_left() const {
    if (!patience_) return std::nullopt;
    return std::max(began_ + *patience_ - context_->clock().now(),
                    std::chrono::nanoseconds::zero());
}

void Contest::look_at_limits() {
    if (stop_.stop_requested()) {
        resume(Acquisition::Stopped{});
    } else if (time_left() == std::chrono::nanoseconds::zero()) {
        resume(Acquisition::TimeUp{});
    }
}

void Contest::hear_of_limits() {
    if (std::exchange(hears_of_limits_, true)) return;
    if (stop_.stop_possible()) stop_callback_.emplace(stop_, PostStop{this});
    if (patience_) at(began_ + *patience_, Acquisition::TimeUp{}, time_up_);
}

void Contest::await_last_answer() {
    if (last_answer_ != 0) return;
    at(context_->clock().now() + patience_once_stopped, Acquisition::Unanswered{}, last_answer_);
}

void Contest::begin_waiting(std::optional<std::chrono::nanoseconds> look_again) {
    const bool first = !watched_index_;
    watch_current();
    hear_of_limits();
    if (auto* observer = context_->observer(); observer && first) {
        told_waiting_ = machine_.waiting_index();
        observer->waiting(name_of(*told_waiting_));
    }
    if (look_again) look_at(context_->clock().now() + *look_again);
}

/// Answers and pushes come by different ways: what is heard last may be older than what was heard
/// before it. So a look is never put off, one that is due least of all; one that is too early costs
/// a question.
void Contest::look_at(Moment moment) {
    {
        const std::lock_guard guard(inbox_mutex_);
        if (look_at_ && *look_at_ <= moment) return;
        look_at_ = moment;
    }
    context_->renewing().cancel(look_again_);
    look_again_ = context_->renewing().at(moment, [weak = weak_from_this(), moment] {
        if (const auto self = weak.lock()) self->look_is_due(moment);
    });
}

/// Unless it is to look earlier by now: that is due too, or was.
void Contest::look_is_due(Moment moment) {
    {
        const std::lock_guard guard(inbox_mutex_);
        if (look_at_ != moment) return;
        look_at_.reset();
    }
    post(Acquisition::Moved{Standing{.state = Standing::State::waiting}});
}

void Contest::watch_current() {
    if (watched_index_ == machine_.waiting_index()) return;
    watched_index_ = machine_.waiting_index();
    watch_.reset();
    watch_ = context_->store().watch(machine_.waiting(),
                                     [weak = weak_from_this()](const Standing& standing) {
                                         if (const auto self = weak.lock())
                                             self->post(Acquisition::Moved{standing});
                                     });
}

void Contest::at(Moment moment, Event event, Alarm::Timer& timer) {
    timer = context_->renewing().at(moment, [weak = weak_from_this(), event = std::move(event)] {
        if (const auto self = weak.lock()) self->post(event);
    });
}

void Contest::tidy_up() {
    stop_callback_.reset();
    watch_.reset();
    for (const Alarm::Timer timer : {time_up_, last_answer_, look_again_}) {
        if (timer != 0) context_->renewing().cancel(timer);
    }
}

void Contest::keep_no_more() {
    const std::lock_guard guard(keeping_mutex_);
    keeps_no_more_ = true;
    for (const auto& kept : kept_) context_->keeper().forget(*kept);
}

void Contest::end_wait() {
    if (!told_waiting_) return;
    context_->observer()->wait_ended(name_of(*std::exchange(told_waiting_, std::nullopt)),
                                     wait_end(machine_.end()), context_->clock().now() - began_);
}

template <class Leave>
Outcome Contest::finish(Leave leave) {
    tidy_up();
    end_wait();
    if (machine_.end() == End::admitted) return admitted();
    keep_no_more();
    if (const auto tickets = machine_.leftovers(); !tickets.empty()) leave(tickets);
    const auto failed_at = std::min(machine_.waiting_index(), machine_.parts().size() - 1);
    return {.end = machine_.end(),
            .failure = machine_.failure(),
            .failed_at = failed_at,
            .contenders = machine_.take_contenders()};
}

void Contest::take_out(std::span<const Ticket> tickets) {
    for (const Ticket& ticket : tickets) context_->take_out(ticket, lease());
}

void Contest::abandon() {
    tidy_up();
    end_wait();
    keep_no_more();
    take_out(machine_.leftovers());
}

Outcome Contest::admitted() {
    std::vector<std::uint64_t> fences;
    fences.reserve(machine_.parts().size());
    for (const auto& part : machine_.parts()) fences.push_back(part.fence);
    hold_->admit(std::move(kept_), std::move(fences));
    if (auto* observer = context_->observer()) {
        observer->acquired(hold_->name(), hold_->fences().front(),
                           context_->clock().now() - began_);
    }
    return {.end = End::admitted, .hold = std::move(hold_)};
}

namespace {

class BlockingContest final : public Contest {
public:
    using Contest::Contest;

    Outcome run() {
        try {
            if (!stop_.stop_requested()) {
                context_->await_departures(contenders(), time_left(), stop_);
            }
            return drive();
        } catch (...) {
            // Out of memory, or of threads: what may be in line must not stay there.
            abandon();
            throw;
        }
    }

private:
    Outcome drive() {
        Event event = beginning();
        for (;;) {
            const Action action = resume(std::move(event));
            switch (action.what) {
                case Do::finish:
                    return finish([this](const auto& tickets) { leave(tickets); });
                case Do::wait:
                    begin_waiting(action.look_again);
                    [[fallthrough]];
                case Do::pass:
                    event = await_event();
                    break;
                default:
                    event = answer_to(action);
                    look_at_limits();
            }
        }
    }

    void wake() override { context_->store().wire().signal(waiter_); }

    Event answer_to(const Action& action) {
        std::optional<Event> event;
        perform(action, [this, &event](auto pending, auto to_event) {
            event = to_event(await_answer(std::move(pending)));
        });
        return *std::move(event);
    }

    template <class T>
    Result<T> await_answer(Pending<T> pending) {
        if (!stop_.stop_possible()) return std::move(pending).get();
        return std::move(pending).get(stop_, patience_once_stopped);
    }

    Event await_event() {
        for (;;) {
            if (auto event = take_event()) return *std::move(event);
            context_->store().wire().wait(waiter_);
        }
    }

    void leave(std::span<const Ticket> tickets) {
        // A caller who is to hear of a failure need not wait for another one.
        if (is_store_silent()) return take_out(tickets);
        const auto patience = how_it_ended() == End::stopped ? patience_once_stopped : lease();
        context_->give_back(tickets, lease(), context_->clock().now() + patience);
    }

    Wire::Waiter waiter_;
};

class AsyncContest final : public Contest {
public:
    AsyncContest(std::shared_ptr<Context> context, Request request, Callback<void(Outcome)> done)
        : Contest(std::move(context), std::move(request)), done_(std::move(done)) {}

    void start() {
        const auto self = under_way_ = shared_from_this();
        // What comes in meanwhile is looked at afterwards.
        running_ = true;
        try {
            // What departs does not keep it: it may end before.
            context_->after_departures(contenders(), [weak = weak_from_this(), this] {
                if (const auto still_there = weak.lock()) post(beginning());
            });
            hear_of_limits();
        } catch (...) {
            under_way_.reset();
            abandon();
            throw;
        }
        run();
    }

private:
    /// Whoever brings an event runs the machine, unless somebody does already: then that one takes
    /// the event too. So answers that are here at once make a loop, not a recursion.
    void wake() override {
        {
            const std::lock_guard guard(mutex_);
            more_ = true;
            if (std::exchange(running_, true)) return;
        }
        const auto self = shared_from_this();
        run();
    }

    void run() {
        for (;;) {
            while (auto event = take_event()) step_or_fall(*std::move(event));
            const std::lock_guard guard(mutex_);
            if (!std::exchange(more_, false)) {
                running_ = false;
                return;
            }
        }
    }

    void step_or_fall(Event event) {
        if (over_) return;
        try {
            step(std::move(event));
        } catch (const std::exception& error) {
            fall(error);
        }
    }

    /// Out of memory, or of threads: what may be in line must not stay there.
    void fall(const std::exception& error) {
        interest_.reset();
        try {
            abandon();
        } catch (const std::exception&) {
            // What is left in line goes with its lease. Whoever waits hears of the end all the
            // same.
        }
        deliver({.end = End::failed,
                 .failure = Failure{errc::unreachable, Effect::unknown, error.what()}});
    }

    void step(Event event) {
        if (is_answer(event)) look_at_limits();
        const bool is_stopped = std::holds_alternative<Acquisition::Stopped>(event);
        const Action action = resume(std::move(event));
        switch (action.what) {
            case Do::finish:
                end();
                break;
            case Do::wait:
                if (!interest_) interest_.emplace(context_->store().wire().interest());
                begin_waiting(action.look_again);
                break;
            case Do::pass:
                if (is_stopped) await_last_answer();
                break;
            default:
                perform(action, [this](auto pending, auto to_event) {
                    std::move(pending).then(
                        [this, self = shared_from_this(), to_event](auto result) {
                            take_in(std::move(result), to_event);
                        });
                });
        }
    }

    template <class Answer, class ToEvent>
    void take_in(Answer result, ToEvent to_event) {
        try {
            post(to_event(std::move(result)));
        } catch (const std::exception& error) {
            // Out of memory: as if it had not come.
            post(Acquisition::Overdue{error.what()});
        }
    }

    void end() {
        interest_.reset();
        Outcome outcome = finish([this](const auto& tickets) {
            // What may not be heard must not keep whoever comes again from the store.
            if (is_store_silent()) return take_out(tickets);
            context_->send_off(tickets, lease());
        });
        if (outcome.hold) outcome.hold->let_nobody_wait();
        deliver(std::move(outcome));
    }

    void deliver(Outcome outcome) {
        over_ = true;
        outcome_ = std::move(outcome);
        const auto call = [this, self = std::exchange(under_way_, nullptr)] {
            std::exchange(done_, {})(std::move(outcome_));
        };
        try {
            context_->telling().post(call);
        } catch (const std::exception&) {
            // There is no thread for it. It must be called all the same.
            call();
        }
    }

    Callback<void(Outcome)> done_;
    bool over_ = false;  ///< whoever runs the machine has it to itself
    Outcome outcome_;    ///< once it is over, for the telling thread
    /// Nobody else owns it while it waits.
    std::shared_ptr<Contest> under_way_;
    std::mutex mutex_;
    bool running_ = false;
    bool more_ = false;
    std::optional<Wire::Interest> interest_;
};

}  // namespace

Outcome contend(const std::shared_ptr<Context>& context, Request request) {
    return std::make_shared<BlockingContest>(context, std::move(request))->run();
}

void contend_async(const std::shared_ptr<Context>& context, Request request,
                   Callback<void(Outcome)> done) {
    std::make_shared<AsyncContest>(context, std::move(request), std::move(done))->start();
}

}  // namespace holdfast::inline v0::core
