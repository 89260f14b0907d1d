#include "core/keeper.hpp"
#include "core/lease.hpp"
#include "port/unanswered.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/passing_store.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

using State = Standing::State;

class StoppedClock final : public Clock {
public:
    Moment now() const noexcept override { return moment; }
    std::uint64_t wall_microseconds() const noexcept override { return 0; }
    Moment moment{1h};
};

/// Rings when the test lets time pass.
class ManualAlarm final : public Alarm {
public:
    Timer at(Moment moment, Callback<void()> callback) override {
        timers.emplace(moment, std::move(callback));
        return timers.size();
    }
    void cancel(Timer) override {}
    void post(Callback<void()> callback) override { at(Moment{}, std::move(callback)); }

    std::multimap<Moment, Callback<void()>> timers;
};

/// Notes what is renewed; the test answers.
class RenewingStore final : public test::PassingStore {
public:
    RenewingStore() : PassingStore(memory::open_memory(std::string{})) {}

    struct Renewal {
        std::vector<std::string> resources;
        std::chrono::milliseconds lease;
        std::shared_ptr<Flight<std::vector<Standing>>> flight;

        void answer(std::vector<Standing> standings) const {
            flight->complete(std::move(standings));
        }
        void answer_all(State state) const {
            answer(std::vector<Standing>(resources.size(), Standing{.state = state}));
        }
        void fail(errc code = errc::unreachable, Effect effect = Effect::unknown) const {
            flight->complete(Failure{code, effect, "no"});
        }
    };

    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        last_lease = extension.lease;
        if (at_once) return std::vector<Standing>(tickets.size(), *at_once);
        Renewal renewal{
            {}, extension.lease, std::make_shared<Flight<std::vector<Standing>>>(wire())};
        for (const Ticket& ticket : tickets) renewal.resources.push_back(ticket.resource);
        renewals.push_back(renewal);
        return Pending<std::vector<Standing>>(renewal.flight);
    }

    std::vector<Renewal> renewals;
    std::chrono::milliseconds last_lease{0};
    std::optional<Standing> at_once;  ///< what is answered to all, without the test
};

struct Listener final : KeptListener {
    void renewed(const Kept&, const Standing& standing) override {
        if (std::exchange(throws_once, false)) throw std::bad_alloc();
        standings.push_back(standing.state);
    }
    void overdue(const Kept&) override { ++overdue_calls; }
    std::vector<State> standings;
    int overdue_calls = 0;
    bool throws_once = false;
};

class AKeeper : public testing::Test {
protected:
    std::shared_ptr<Kept> keep(std::string resource, std::chrono::milliseconds lease = 12s) {
        auto kept = std::make_shared<Kept>(lease, 0);
        keeper_->keep(kept, {std::move(resource), {}, "place"}, clock_.now(), listener_);
        return kept;
    }
    /// Lets time pass, and both alarms ring on the way.
    void pass(std::chrono::nanoseconds time) {
        const Moment until = clock_.moment + time;
        while (ring_next(until)) {
        }
        clock_.moment = until;
    }
    bool ring_next(Moment until) {
        ManualAlarm* next = nullptr;
        for (ManualAlarm* alarm : {&renewing_, &telling_}) {
            if (alarm->timers.empty() || alarm->timers.begin()->first > until) continue;
            if (!next || alarm->timers.begin()->first < next->timers.begin()->first) next = alarm;
        }
        if (!next) return false;
        auto node = next->timers.extract(next->timers.begin());
        clock_.moment = std::max(clock_.moment, node.key());
        node.mapped()();
        return true;
    }
    std::size_t renewals() const { return store_.renewals.size(); }
    /// Lets time pass until the next renewal is sent, which the store answers so.
    void renew(const Standing& answer, std::chrono::nanoseconds due = 4s) {
        pass(due);
        store_.renewals.back().answer({answer});
    }
    /// What is over is not renewed.
    void expect_no_more_renewals() {
        const auto before = renewals();
        pass(1h);
        EXPECT_EQ(renewals(), before);
    }
    /// By an answer that is there at once.
    bool lengthen(const std::shared_ptr<Kept>& kept, std::chrono::milliseconds lease,
                  Standing answer = {.state = State::admitted}) {
        store_.at_once = answer;
        const bool lengthened = keeper_->lengthen({&kept, 1}, lease);
        store_.at_once.reset();
        return lengthened;
    }

    StoppedClock clock_;
    ManualAlarm renewing_;
    ManualAlarm telling_;
    RenewingStore store_;
    std::vector<std::string> failures_;
    bool reporting_throws_ = false;
    std::shared_ptr<Keeper> keeper_ = std::make_shared<Keeper>(
        store_, clock_, renewing_, telling_, [this](const Failure& failure) {
            if (reporting_throws_) throw std::bad_alloc();
            failures_.push_back(failure.sentence);
        });
    std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
};

TEST_F(AKeeper, RenewsAtAThirdOfTheLease) {
    const auto kept = keep("a");
    pass(4s - 1ns);
    EXPECT_EQ(renewals(), 0U);
    pass(1ns);
    ASSERT_EQ(renewals(), 1U);
    EXPECT_EQ(store_.renewals[0].lease, 12s);
    store_.renewals[0].answer_all(State::admitted);
    EXPECT_EQ(listener_->standings, std::vector{State::admitted});
    pass(4s);
    EXPECT_EQ(renewals(), 2U);
}

TEST_F(AKeeper, CountsTheLeaseFromTheSendOfTheAnsweredRenewal) {
    const auto kept = keep("a");
    const Moment start = clock_.now();
    EXPECT_EQ(kept->valid_until(), valid_until(start, 12s));
    pass(4s);
    pass(2s);
    store_.renewals[0].answer_all(State::admitted);
    EXPECT_EQ(kept->valid_until(), valid_until(start + 4s, 12s));
}

TEST_F(AKeeper, CountsFromWhereTheStoreSaysIfItDoes) {
    const auto kept = keep("a");
    const Moment session = clock_.now() + 1s;
    renew({.state = State::admitted, .counted_from = session});
    EXPECT_EQ(kept->valid_until(), valid_until(session, 12s));
}

TEST_F(AKeeper, LengthensFromTheMomentThatTheStoreCountsFrom) {
    const auto kept = keep("a");
    clock_.moment += 3s;
    const Moment counted_from = clock_.now() - 1s;
    EXPECT_TRUE(lengthen(kept, 1h, {.state = State::admitted, .counted_from = counted_from}));
    EXPECT_LE(kept->valid_until(), counted_from + 1h);
}

TEST_F(AKeeper, LengthensNothingWhoseRenewalIsOnItsWay) {
    const auto kept = keep("a");
    pass(4s);
    EXPECT_FALSE(keeper_->lengthen({&kept, 1}, 1h));
    EXPECT_EQ(renewals(), 1U);
    store_.renewals[0].answer_all(State::admitted);
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now(), 12s));
}

TEST_F(AKeeper, NeverCountsBackwards) {
    const auto kept = keep("a");
    pass(4s);
    keeper_->confirm(*kept, clock_.now() + 1s);
    store_.renewals[0].answer_all(State::admitted);
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now() + 1s, 12s));
}

TEST_F(AKeeper, RenewsTogetherWhatIsDueWithinTheWindow) {
    const auto first = keep("a");
    pass(renewal_window(12s) / 2);
    const auto second = keep("b");
    pass(renewal_window(12s));
    const auto third = keep("c");
    pass(4s - renewal_window(12s) * 3 / 2);
    ASSERT_EQ(renewals(), 1U);
    EXPECT_EQ(store_.renewals[0].resources, (std::vector<std::string>{"a", "b"}));
}

TEST_F(AKeeper, RenewsLeasesOfDifferentLengthApart) {
    const auto first = keep("a", 12s);
    pass(2s);
    const auto second = keep("b", 6s);
    pass(2s);
    ASSERT_EQ(renewals(), 2U);
    EXPECT_NE(store_.renewals[0].lease, store_.renewals[1].lease);
}

TEST_F(AKeeper, SplitsWhatWouldBeTooMuchForOneRequest) {
    std::vector<std::shared_ptr<Kept>> many;
    for (int i = 0; i < 1200; ++i) many.push_back(keep(std::to_string(i)));
    pass(4s);
    ASSERT_EQ(renewals(), 3U);
    std::size_t total = 0;
    for (const auto& renewal : store_.renewals) {
        EXPECT_LE(renewal.resources.size(), 500U);
        total += renewal.resources.size();
    }
    EXPECT_EQ(total, many.size());
}

TEST_F(AKeeper, TriesAgainSoonAfterAFailureAndReportsIt) {
    const auto kept = keep("a");
    pass(4s);
    store_.renewals[0].fail();
    EXPECT_EQ(failures_.size(), 1U);
    pass(1s);
    ASSERT_EQ(renewals(), 2U);
    store_.renewals[1].answer_all(State::admitted);
    pass(3s);
    EXPECT_EQ(listener_->overdue_calls, 0);
}

TEST_F(AKeeper, RenewsEachAloneWhenOneOfThemMayBeWhatIsWrong) {
    const auto first = keep("a");
    const auto second = keep("b");
    pass(4s);
    ASSERT_EQ(renewals(), 1U);
    store_.renewals[0].fail(errc::corrupt);
    pass(1s);
    ASSERT_EQ(renewals(), 3U);
    store_.renewals[1].fail(errc::corrupt);
    store_.renewals[2].answer_all(State::admitted);
    EXPECT_EQ(listener_->standings, std::vector{State::admitted});
    EXPECT_EQ(second->valid_until(), valid_until(clock_.now(), 12s));
}

TEST_F(AKeeper, DoesNotDrownAStoreThatRefusesManyInRequestsForEach) {
    std::vector<std::shared_ptr<Kept>> many;
    for (int i = 0; i < 400; ++i) many.push_back(keep("a" + std::to_string(i)));
    pass(4s);
    ASSERT_EQ(renewals(), 1U);
    store_.renewals[0].fail(errc::bad_configuration);
    pass(1s);
    EXPECT_EQ(renewals(), 1U + 8U) << "of fifty each";
}

TEST_F(AKeeper, RenewsTogetherAgainWhatWasAnsweredAlone) {
    const auto first = keep("a");
    const auto second = keep("b");
    pass(4s);
    store_.renewals[0].fail(errc::corrupt);
    pass(1s);
    ASSERT_EQ(renewals(), 3U);
    store_.renewals[1].answer_all(State::admitted);
    store_.renewals[2].answer_all(State::admitted);
    pass(4s);
    EXPECT_EQ(renewals(), 4U);
}

TEST_F(AKeeper, RenewsTogetherAgainWhatWasNotSent) {
    const auto first = keep("a");
    const auto second = keep("b");
    pass(4s);
    store_.renewals[0].fail(errc::unreachable, Effect::none);
    pass(1s);
    EXPECT_EQ(renewals(), 2U);
}

/// Somebody may keep the row of one of them locked.
TEST_F(AKeeper, LosesNoneButTheOneForWhichNoneOfThemIsAnswered) {
    std::vector<std::shared_ptr<Kept>> many;
    for (int i = 0; i < 500; ++i) many.push_back(keep("a" + std::to_string(i)));
    std::size_t answered = 0;
    const auto answer_all_but_one = [&] {
        for (; answered < renewals(); ++answered) {
            const auto& renewal = store_.renewals[answered];
            if (std::ranges::find(renewal.resources, "a77") != renewal.resources.end()) {
                renewal.fail(errc::unreachable);
            } else {
                renewal.answer_all(State::admitted);
            }
        }
    };
    // Each that is not answered takes a quarter of the lease.
    for (int i = 0; i < 11; ++i) {
        pass(1s);
        if (i % 3 == 0) answer_all_but_one();
    }
    pass(1s);
    EXPECT_EQ(listener_->overdue_calls, 1);
    EXPECT_LT(renewals(), 100U);
}

TEST_F(AKeeper, LosesNoHoldForOneWhoseServerDoesNotAnswer) {
    const auto away = keep("a");
    const auto there = keep("b");
    const Standing admitted{.state = State::admitted};
    pass(4s);
    ASSERT_EQ(renewals(), 1U);
    const Moment sent = clock_.now();
    store_.renewals[0].answer({unanswered(), admitted});
    EXPECT_EQ(there->valid_until(), valid_until(sent, 12s));
    EXPECT_EQ(away->valid_until(), valid_until(sent - 4s, 12s));
    EXPECT_EQ(listener_->standings, std::vector{State::admitted}) << "of the one there is no news";
    EXPECT_EQ(failures_.size(), 1U);
    pass(1s);
    ASSERT_EQ(renewals(), 2U) << "soon, and alone";
    EXPECT_EQ(store_.renewals[1].resources, std::vector<std::string>{"a"});
    pass(3s);
    ASSERT_EQ(renewals(), 3U);
    store_.renewals[2].answer({admitted});
    pass(4s);
    EXPECT_EQ(listener_->overdue_calls, 1);
    EXPECT_EQ(there->valid_until(), valid_until(sent + 4s, 12s));
}

TEST_F(AKeeper, LengthensNothingWhoseServerDoesNotAnswer) {
    const auto kept = keep("a");
    EXPECT_FALSE(lengthen(kept, 30s, unanswered()));
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now(), 12s));
}

TEST_F(AKeeper, TellsBeforeTheLeaseCanNoLongerBeTrusted) {
    const auto kept = keep("a");
    const Moment deadline = kept->valid_until();
    for (std::size_t failed = 0; listener_->overdue_calls == 0;) {
        for (; failed < renewals(); ++failed) store_.renewals[failed].fail();
        pass(100ms);
        ASSERT_LT(clock_.now(), deadline);
    }
    EXPECT_EQ(listener_->overdue_calls, 1);
    EXPECT_EQ(kept->valid_until(), deadline);
    expect_no_more_renewals();
    EXPECT_EQ(listener_->overdue_calls, 1);
}

TEST_F(AKeeper, TellsThoughARenewalIsNeverAnswered) {
    const auto kept = keep("a");
    pass(11s);
    EXPECT_EQ(renewals(), 1U);
    EXPECT_EQ(listener_->overdue_calls, 1);
}

TEST_F(AKeeper, TellsThoughTheRenewingAlarmNeverRings) {
    const auto kept = keep("a");
    ASSERT_FALSE(telling_.timers.empty());
    auto node = telling_.timers.extract(telling_.timers.begin());
    EXPECT_LT(node.key(), kept->valid_until());
    clock_.moment = node.key();
    node.mapped()();
    EXPECT_EQ(listener_->overdue_calls, 1);
    EXPECT_EQ(renewals(), 0U);
}

TEST_F(AKeeper, KeepsAHoldByNothingButItsOwnFence) {
    const Standing answers[] = {{.state = State::waiting},
                                {.state = State::offered},
                                {.state = State::admitted, .fence = 8}};
    for (const Standing& answer : answers) {
        const auto kept = keep("a");
        keeper_->admitted(*kept, 7);
        const Moment before = kept->valid_until();
        renew(answer);
        EXPECT_EQ(listener_->standings.back(), State::gone);
        EXPECT_EQ(kept->valid_until(), before);
        expect_no_more_renewals();
    }
}

TEST_F(AKeeper, KeepsAHoldByItsOwnFence) {
    const auto kept = keep("a");
    keeper_->admitted(*kept, 7);
    renew({.state = State::admitted, .fence = 7});
    EXPECT_EQ(listener_->standings, std::vector{State::admitted});
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now(), 12s));
}

TEST_F(AKeeper, RemembersTheFenceThatARenewalBrought) {
    const auto kept = keep("a");
    renew({.state = State::admitted, .fence = 7});
    renew({.state = State::waiting});
    EXPECT_EQ(listener_->standings, (std::vector{State::admitted, State::gone}));
}

TEST_F(AKeeper, TakesNoAnswerFromBeforeTheAdmissionForALoss) {
    const auto kept = keep("a");
    pass(4s);
    clock_.moment += 1ms;
    keeper_->admitted(*kept, 7);
    const Moment before = kept->valid_until();
    store_.renewals[0].answer({{.state = State::waiting}});
    EXPECT_EQ(listener_->standings, std::vector{State::admitted});
    EXPECT_EQ(kept->valid_until(), before) << "nor does it lengthen anything";
    pass(4s);
    EXPECT_EQ(renewals(), 2U);
}

TEST_F(AKeeper, LengthensNothingThatTheStoreKnowsOtherwise) {
    const auto kept = keep("a");
    keeper_->admitted(*kept, 7);
    EXPECT_FALSE(lengthen(kept, 1h, {.state = State::admitted, .fence = 8}));
    EXPECT_EQ(listener_->standings, std::vector{State::gone});
}

TEST_F(AKeeper, LengthensNobodysLeaseToLessThanItsOwn) {
    const auto kept = keep("a");
    EXPECT_TRUE(lengthen(kept, 5s));
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now(), 12s));
    EXPECT_EQ(store_.last_lease, 12s);
}

TEST_F(AKeeper, GivesWhoeverLengthenedAMomentToStop) {
    const auto kept = keep("a", 300ms);
    ASSERT_TRUE(lengthen(kept, 1h));
    pass(900ms);
    EXPECT_EQ(renewals(), 0U);
    pass(100ms);
    EXPECT_EQ(renewals(), 1U);
}

TEST_F(AKeeper, TrustsALengthenedLeaseNoLongerThanTheNextRenewalThatIsSent) {
    const auto kept = keep("a");
    ASSERT_TRUE(lengthen(kept, 100s));
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now(), 100s));
    pass(4s);
    ASSERT_EQ(renewals(), 1U) << "which has its own lease again";
    EXPECT_EQ(kept->valid_until(), valid_until(clock_.now(), 12s)) << "whether answered or not";
    pass(11s);
    EXPECT_EQ(listener_->overdue_calls, 1);
}

TEST_F(AKeeper, RenewsAllAtOnceWhenTheServersClockWentForward) {
    const auto lasting = keep("a", 60s);
    const auto brief = keep("b", 3s);
    renew({.state = State::admitted, .server_clock = 1000s}, 1s);
    renew({.state = State::gone, .server_clock = 1001s + 100s}, 1s);
    ASSERT_EQ(renewals(), 2U);
    pass(0s);
    ASSERT_EQ(renewals(), 3U) << "not after a third of a minute";
    EXPECT_EQ(store_.renewals.back().resources, std::vector<std::string>{"a"});
    ASSERT_EQ(failures_.size(), 1U);
    EXPECT_NE(failures_[0].find("clock went forward by 100.0 s"), std::string::npos)
        << failures_[0];
    store_.renewals.back().answer({{.state = State::admitted, .server_clock = 1101s}});
    pass(1s);
    EXPECT_EQ(renewals(), 3U) << "once";
}

TEST_F(AKeeper, TellsAlsoThatTheServersClockWentBack) {
    const auto lasting = keep("a", 60s);
    const auto brief = keep("b", 3s);
    renew({.state = State::admitted, .server_clock = 1000s}, 1s);
    renew({.state = State::admitted, .server_clock = 901s}, 1s);
    pass(0s);
    EXPECT_EQ(renewals(), 2U);
    ASSERT_EQ(failures_.size(), 1U);
    EXPECT_NE(failures_[0].find("clock went back by 100.0 s"), std::string::npos) << failures_[0];
}

TEST_F(AKeeper, TellsAtOnceWhatIsOverdueFromTheStart) {
    auto kept = std::make_shared<Kept>(12s, 0);
    keeper_->keep(kept, {"a", {}, "place"}, clock_.now() - 1h, listener_);
    pass(0s);
    EXPECT_EQ(listener_->overdue_calls, 1);
}

TEST_F(AKeeper, DropsWhatIsGoneAfterSayingSo) {
    const auto kept = keep("a");
    renew({.state = State::gone});
    EXPECT_EQ(listener_->standings, std::vector{State::gone});
    expect_no_more_renewals();
    EXPECT_EQ(listener_->overdue_calls, 0);
}

TEST_F(AKeeper, NeverRenewsWhatItForgot) {
    const auto kept = keep("a");
    keeper_->forget(*kept);
    pass(1h);
    EXPECT_EQ(renewals(), 0U);
    EXPECT_EQ(listener_->overdue_calls, 0);
}

TEST_F(AKeeper, IgnoresAnAnswerThatComesAfterItForgot) {
    for (const bool fails : {false, true}) {
        const auto kept = keep("a");
        pass(4s);
        const Moment before = kept->valid_until();
        keeper_->forget(*kept);
        fails ? store_.renewals.back().fail() : store_.renewals.back().answer_all(State::admitted);
        expect_no_more_renewals();
        EXPECT_EQ(kept->valid_until(), before);
        EXPECT_TRUE(listener_->standings.empty());
    }
}

TEST_F(AKeeper, TellsWhomeverItWasHandedOverTo) {
    const auto kept = keep("a");
    const auto heir = std::make_shared<Listener>();
    keeper_->hand_over(*kept, heir);
    renew({.state = State::admitted});
    EXPECT_TRUE(listener_->standings.empty());
    EXPECT_EQ(heir->standings, std::vector{State::admitted});
}

TEST_F(AKeeper, TellsTheHeirOfWhatWasOverBeforeItCame) {
    const auto overdue = keep("a");
    pass(11s);
    EXPECT_EQ(listener_->overdue_calls, 1);
    const auto gone = keep("b");
    renew({.state = State::gone});
    const auto heir = std::make_shared<Listener>();
    keeper_->hand_over(*gone, heir);
    EXPECT_EQ(heir->standings, std::vector{State::gone});
    EXPECT_EQ(heir->overdue_calls, 0);
    const auto other = std::make_shared<Listener>();
    keeper_->hand_over(*overdue, other);
    pass(0s);
    EXPECT_TRUE(other->standings.empty());
    EXPECT_EQ(other->overdue_calls, 1);
}

/// A process that was stopped goes on: the answer of a renewal may be read before the telling
/// thread runs.
TEST_F(AKeeper, NeverTrustsAgainAHoldThatWasOver) {
    const auto kept = keep("a");
    keeper_->admitted(*kept, 7);
    pass(4s);
    ASSERT_EQ(renewals(), 1U);
    clock_.moment += 8s;
    const Moment over = kept->valid_until();
    ASSERT_LE(over, clock_.now());
    store_.renewals[0].answer({{.state = State::admitted, .fence = 7}});
    EXPECT_EQ(kept->valid_until(), over);
    pass(0s);
    EXPECT_EQ(listener_->overdue_calls, 1);
    EXPECT_TRUE(listener_->standings.empty());
    expect_no_more_renewals();
}

TEST_F(AKeeper, TellsEachOfTheOthersWhenOneCannotBeTold) {
    const auto first = keep("a");
    const auto second = keep("b");
    const auto heir = std::make_shared<Listener>();
    keeper_->hand_over(*second, heir);
    listener_->throws_once = true;
    pass(4s);
    EXPECT_NO_THROW(store_.renewals[0].answer_all(State::gone));
    EXPECT_EQ(heir->standings, std::vector{State::gone});
    EXPECT_TRUE(listener_->standings.empty());
    pass(0s);
    EXPECT_EQ(listener_->overdue_calls, 1) << "it hears of it all the same";
    EXPECT_EQ(heir->overdue_calls, 0);
    expect_no_more_renewals();
}

TEST_F(AKeeper, TellsOfALossThoughTheTroubleBesideItCannotBeReported) {
    const auto gone = keep("a");
    const auto unheard = keep("b");
    reporting_throws_ = true;
    pass(4s);
    EXPECT_THROW(store_.renewals[0].answer({{.state = State::gone}, unanswered()}), std::bad_alloc);
    EXPECT_EQ(listener_->standings, std::vector{State::gone});
}

TEST_F(AKeeper, OutlivesItsListeners) {
    const auto kept = keep("a");
    listener_.reset();
    renew({.state = State::admitted});
    pass(1h);
}

TEST_F(AKeeper, ArmsNothingWhenItIsClosed) {
    keeper_->close();
    const auto kept = keep("a");
    EXPECT_TRUE(renewing_.timers.empty());
    EXPECT_TRUE(telling_.timers.empty());
}

}  // namespace
}  // namespace holdfast::core
