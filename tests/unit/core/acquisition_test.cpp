#include "core/acquisition.hpp"
#include "support/suite.hpp"

namespace holdfast::core {
namespace {

using Do = Acquisition::Do;
using End = Acquisition::End;
using State = Standing::State;

Contender contender(std::string resource) {
    return {.resource = std::move(resource), .nonce = {}, .owner = {}, .lease = 12s};
}

Entry entry(std::string resource, State state, std::uint64_t fence = 0) {
    return {.ticket = {std::move(resource), {}, "place"},
            .standing = {.state = state, .fence = fence}};
}

Failure failure(Effect effect) {
    return {errc::unreachable, effect, "no"};
}

/// A script: what happens, and what the machine wants then.
class Script : public testing::Test {
protected:
    static Acquisition of(std::vector<std::string> resources, bool together = true,
                          Patience patience = Patience::wait) {
        std::vector<Contender> contenders;
        for (auto& resource : resources) {
            contenders.push_back(contender(std::move(resource)));
            contenders.back().patience = patience;
        }
        return {std::move(contenders), together};
    }
    static Acquisition waiting_for(std::string resource) {
        auto machine = of({resource});
        EXPECT_EQ(machine.resume(Acquisition::Started{}).what, Do::enter);
        EXPECT_EQ(entered(machine, {entry(resource, State::waiting)}), Do::wait);
        return machine;
    }
    static Do entered(Acquisition& machine, std::vector<Entry> entries) {
        return machine.resume(Acquisition::Entered{std::move(entries)}).what;
    }
    static Do pushed(Acquisition& machine, State state) {
        return machine.resume(Acquisition::Moved{{.state = state}}).what;
    }
    static Do claimed(Acquisition& machine, State state, std::uint64_t fence = 0) {
        return machine
            .resume(Acquisition::Claimed{std::vector<Standing>{{.state = state, .fence = fence}}})
            .what;
    }
    static Do asked(Acquisition& machine, State state) {
        return machine.resume(Acquisition::Asked{Standing{.state = state}}).what;
    }
    static std::vector<std::string> left_in_line(const Acquisition& machine) {
        std::vector<std::string> resources;
        for (const Ticket& ticket : machine.leftovers()) resources.push_back(ticket.resource);
        return resources;
    }
};
using Resources = std::vector<std::string>;

TEST_F(Script, AFreeResourceIsEnteredAndHeld) {
    auto machine = of({"a"});
    EXPECT_EQ(machine.resume(Acquisition::Started{}).what, Do::enter);
    EXPECT_EQ(entered(machine, {entry("a", State::admitted, 7)}), Do::finish);
    EXPECT_EQ(machine.end(), End::admitted);
    EXPECT_EQ(machine.parts().front().fence, 7U);
}

TEST_F(Script, OneThatWaitsButFindsItsEarlierCopyGoneIsTold) {
    auto machine = of({"a"});
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(entered(machine, {entry("a", State::gone)}), Do::finish);
    EXPECT_EQ(machine.end(), End::put_out);
}

TEST_F(Script, ABusyOneThatDoesNotWaitEndsAndLeavesNothing) {
    auto machine = of({"a"}, true, Patience::none);
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(entered(machine, {entry("a", State::gone)}), Do::finish);
    EXPECT_EQ(machine.end(), End::busy);
    EXPECT_EQ(left_in_line(machine), Resources{});
}

TEST_F(Script, AWaiterIsOfferedClaimsAndHolds) {
    auto machine = waiting_for("a");
    EXPECT_EQ(pushed(machine, State::offered), Do::claim);
    EXPECT_EQ(claimed(machine, State::admitted, 9), Do::finish);
    EXPECT_EQ(machine.end(), End::admitted);
    EXPECT_EQ(machine.parts().front().fence, 9U);
}

TEST_F(Script, AStandByThatIsToldWhenToLookAsksNothingBefore) {
    auto machine = waiting_for("a");
    const auto action = machine.resume(
        Acquisition::Moved{{.state = State::waiting, .look_again = std::chrono::seconds{1}}});
    EXPECT_EQ(action.what, Do::wait);
    EXPECT_EQ(action.look_again, std::chrono::seconds{1});
    EXPECT_EQ(pushed(machine, State::waiting), Do::ask);
}

TEST_F(Script, AnythingElsePushedIsAskedAbout) {
    auto machine = waiting_for("a");
    EXPECT_EQ(pushed(machine, State::waiting), Do::ask);
    EXPECT_EQ(asked(machine, State::waiting), Do::wait);
    EXPECT_EQ(pushed(machine, State::gone), Do::ask) << "a push is only a hint";
    EXPECT_EQ(asked(machine, State::offered), Do::claim);
    EXPECT_EQ(claimed(machine, State::waiting), Do::wait) << "the offer had lapsed";
}

TEST_F(Script, TheStandByLearnsWhenToLookAgain) {
    auto machine = of({"a"});
    machine.resume(Acquisition::Started{});
    auto stands_by = entry("a", State::waiting);
    stands_by.standing.look_again = 3s;
    const auto action = machine.resume(Acquisition::Entered{std::vector{stands_by}});
    EXPECT_EQ(action.what, Do::wait);
    EXPECT_EQ(action.look_again, 3s);
}

TEST_F(Script, WhatIsPushedDuringARequestIsLookedAtAfterIt) {
    auto machine = waiting_for("a");
    EXPECT_EQ(pushed(machine, State::waiting), Do::ask);
    EXPECT_EQ(pushed(machine, State::offered), Do::pass);
    EXPECT_EQ(asked(machine, State::waiting), Do::claim);
}

TEST_F(Script, ALookThatIsDueIsNotForgottenOverAPush) {
    auto machine = waiting_for("a");
    pushed(machine, State::waiting);
    pushed(machine, State::offered);
    const auto claim = machine.resume(Acquisition::Asked{
        Standing{.state = State::waiting, .look_again = std::chrono::seconds{1}}});
    EXPECT_EQ(claim.what, Do::claim);
    const auto wait =
        machine.resume(Acquisition::Claimed{std::vector<Standing>{{.state = State::waiting}}});
    EXPECT_EQ(wait.what, Do::wait);
    EXPECT_EQ(wait.look_again, std::chrono::seconds{1});
}

TEST_F(Script, ALookThatIsDueIsNotPutOffByALaterOneThatWasPushed) {
    auto machine = waiting_for("a");
    pushed(machine, State::waiting);
    machine.resume(Acquisition::Moved{{.state = State::waiting, .look_again = 10s}});
    const auto wait =
        machine.resume(Acquisition::Asked{Standing{.state = State::waiting, .look_again = 200ms}});
    EXPECT_EQ(wait.what, Do::wait);
    EXPECT_EQ(wait.look_again, 200ms);
}

TEST_F(Script, AStopWaitsForTheAnswerUnderWayUntilItIsToldThatThereIsNone) {
    auto machine = of({"a"});
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(machine.resume(Acquisition::Stopped{}).what, Do::pass);
    EXPECT_EQ(machine.resume(Acquisition::TimeUp{}).what, Do::pass);
    EXPECT_EQ(machine.resume(Acquisition::Unanswered{}).what, Do::finish);
    EXPECT_EQ(machine.end(), End::stopped);
    EXPECT_EQ(left_in_line(machine), Resources{"a"}) << "perhaps";
}

TEST_F(Script, AWaiterThatIsGoneIsPutOut) {
    auto machine = waiting_for("a");
    pushed(machine, State::waiting);
    EXPECT_EQ(asked(machine, State::gone), Do::finish);
    EXPECT_EQ(machine.end(), End::put_out);
    EXPECT_FALSE(machine.failure());
    EXPECT_EQ(left_in_line(machine), Resources{});
}

TEST_F(Script, AnEnterThatFailedWithNoEffectLeavesNothing) {
    auto machine = of({"a"});
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(machine.resume(Acquisition::Entered{failure(Effect::none)}).what, Do::finish);
    EXPECT_EQ(machine.end(), End::failed);
    EXPECT_EQ(machine.failure()->effect, Effect::none);
    EXPECT_EQ(left_in_line(machine), Resources{});
}

TEST_F(Script, AnEnterOfUnknownEffectIsTakenOutByItsNonceAlone) {
    auto machine = of({"a", "b"});
    machine.resume(Acquisition::Started{});
    machine.resume(Acquisition::Entered{failure(Effect::unknown)});
    EXPECT_EQ(machine.end(), End::failed);
    EXPECT_EQ(left_in_line(machine), (Resources{"a", "b"}));
    EXPECT_EQ(machine.leftovers().front().place, "") << "so that it leaves a tombstone";
}

TEST_F(Script, AFailedQuestionOrClaimIsRepeatedLater) {
    auto machine = waiting_for("a");
    pushed(machine, State::waiting);
    const auto after_question = machine.resume(Acquisition::Asked{failure(Effect::none)});
    EXPECT_EQ(after_question.what, Do::wait);
    EXPECT_EQ(after_question.look_again, 1s);
    pushed(machine, State::offered);
    const auto after_claim = machine.resume(Acquisition::Claimed{failure(Effect::unknown)});
    EXPECT_EQ(after_claim.what, Do::wait);
    EXPECT_TRUE(after_claim.look_again);
    EXPECT_EQ(machine.end(), End::none);
}

TEST_F(Script, TimeUpOrAStopWhileWaitingLeavesTheLine) {
    auto timed_out = waiting_for("a");
    EXPECT_EQ(timed_out.resume(Acquisition::TimeUp{}).what, Do::finish);
    EXPECT_EQ(timed_out.end(), End::busy);
    EXPECT_EQ(left_in_line(timed_out), Resources{"a"});
    auto stopped = waiting_for("a");
    EXPECT_EQ(stopped.resume(Acquisition::Stopped{}).what, Do::finish);
    EXPECT_EQ(stopped.end(), End::stopped);
    EXPECT_EQ(left_in_line(stopped), Resources{"a"});
}

TEST_F(Script, AStopDuringAnEnterThatIsNotAnsweredLeavesTheLine) {
    Acquisition machine({contender("a")}, true);
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(machine.resume(Acquisition::Stopped{}).what, Do::pass);
    EXPECT_EQ(machine.resume(Acquisition::Entered{failure(Effect::unknown)}).what, Do::finish);
    EXPECT_EQ(machine.end(), End::stopped);
    EXPECT_EQ(left_in_line(machine), Resources{"a"});
}

TEST_F(Script, TimeUpDuringAClaimWaitsForItsAnswerWhichMayStillAdmit) {
    auto machine = waiting_for("a");
    pushed(machine, State::offered);
    EXPECT_EQ(machine.resume(Acquisition::TimeUp{}).what, Do::pass);
    EXPECT_EQ(claimed(machine, State::admitted, 3), Do::finish);
    EXPECT_EQ(machine.end(), End::admitted);
}

TEST_F(Script, TimeUpDuringAClaimThatIsNotGrantedOrFailsEndsAsBusy) {
    for (const bool fails : {false, true}) {
        auto machine = waiting_for("a");
        pushed(machine, State::offered);
        machine.resume(Acquisition::TimeUp{});
        if (fails) {
            machine.resume(Acquisition::Claimed{failure(Effect::unknown)});
        } else {
            claimed(machine, State::waiting);
        }
        EXPECT_EQ(machine.end(), End::busy);
        EXPECT_EQ(left_in_line(machine), Resources{"a"});
    }
}

TEST_F(Script, TimeUpDuringAQuestionDoesNotClaimWhatIsOffered) {
    auto machine = waiting_for("a");
    pushed(machine, State::waiting);
    machine.resume(Acquisition::TimeUp{});
    EXPECT_EQ(asked(machine, State::offered), Do::finish);
    EXPECT_EQ(machine.end(), End::busy);
    EXPECT_EQ(left_in_line(machine), Resources{"a"});
}

TEST_F(Script, OverdueWhileWaitingIsPutOutAndTakenOut) {
    auto machine = waiting_for("a");
    EXPECT_EQ(machine.resume(Acquisition::Overdue{}).what, Do::finish);
    EXPECT_EQ(machine.end(), End::put_out);
    EXPECT_EQ(machine.failure()->code, errc::unreachable);
    EXPECT_EQ(machine.failure()->effect, Effect::unknown);
    EXPECT_EQ(left_in_line(machine), Resources{"a"});
}

TEST_F(Script, ARenewalMayBringTheAdmission) {
    auto machine = waiting_for("a");
    const auto action =
        machine.resume(Acquisition::Renewed{0, {.state = State::admitted, .fence = 5}});
    EXPECT_EQ(action.what, Do::finish);
    EXPECT_EQ(machine.parts().front().fence, 5U);
}

TEST_F(Script, ARenewalDuringARequestIsLookedAtAfterIt) {
    auto machine = waiting_for("a");
    pushed(machine, State::waiting);
    EXPECT_EQ(machine.resume(Acquisition::Renewed{0, {.state = State::admitted}}).what, Do::pass);
    EXPECT_EQ(asked(machine, State::waiting), Do::ask);
}

TEST_F(Script, NothingHappensAfterTheEnd) {
    auto machine = waiting_for("a");
    machine.resume(Acquisition::TimeUp{});
    EXPECT_EQ(pushed(machine, State::offered), Do::pass);
    EXPECT_EQ(machine.resume(Acquisition::Stopped{}).what, Do::pass);
    EXPECT_EQ(machine.end(), End::busy);
}

TEST_F(Script, SeveralAreEnteredTogetherAndThoseBehindAWaitAfterIt) {
    auto machine = of({"a", "b", "c"});
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(machine.to_enter().size(), 3U);
    EXPECT_EQ(entered(machine, {entry("a", State::admitted, 1), entry("b", State::waiting)}),
              Do::wait);
    EXPECT_EQ(machine.waiting().resource, "b");
    EXPECT_EQ(left_in_line(machine), (Resources{"a", "b"})) << "no ticket beyond the wait";
    pushed(machine, State::offered);
    EXPECT_EQ(claimed(machine, State::admitted, 2), Do::enter);
    ASSERT_EQ(machine.to_enter().size(), 1U);
    EXPECT_EQ(machine.to_enter().front().resource, "c");
    EXPECT_EQ(entered(machine, {entry("c", State::admitted, 3)}), Do::finish);
    EXPECT_EQ(machine.end(), End::admitted);
}

TEST_F(Script, SeveralAreEnteredOneByOneWhereTheStoreCannotDoMore) {
    auto machine = of({"a", "b"}, false, Patience::none);
    machine.resume(Acquisition::Started{});
    EXPECT_EQ(machine.to_enter().size(), 1U);
    EXPECT_EQ(entered(machine, {entry("a", State::admitted, 1)}), Do::enter);
    EXPECT_EQ(machine.to_enter().front().resource, "b");
    EXPECT_EQ(entered(machine, {entry("b", State::gone)}), Do::finish);
    EXPECT_EQ(machine.end(), End::busy);
    EXPECT_EQ(left_in_line(machine), Resources{"a"}) << "all or none";
}

TEST_F(Script, AnEarlierHoldThatEndsWhileWaitingForALaterOnePutsTheWholeOut) {
    auto machine = of({"a", "b"});
    machine.resume(Acquisition::Started{});
    entered(machine, {entry("a", State::admitted, 1), entry("b", State::waiting)});
    EXPECT_EQ(machine.resume(Acquisition::Renewed{0, {.state = State::admitted}}).what, Do::pass);
    EXPECT_EQ(machine.resume(Acquisition::Renewed{0, {.state = State::gone}}).what, Do::finish);
    EXPECT_EQ(machine.end(), End::put_out);
    EXPECT_EQ(left_in_line(machine), (Resources{"a", "b"})) << "it may wait again at the store";
}

TEST_F(Script, TimeUpDuringTheClaimOfOneOfSeveralGivesAllBack) {
    auto machine = of({"a", "b"});
    machine.resume(Acquisition::Started{});
    entered(machine, {entry("a", State::waiting)});
    pushed(machine, State::offered);
    machine.resume(Acquisition::TimeUp{});
    EXPECT_EQ(claimed(machine, State::admitted, 1), Do::finish);
    EXPECT_EQ(machine.end(), End::busy);
    EXPECT_EQ(left_in_line(machine), Resources{"a"});
}

TEST_F(Script, AFailedEnterOfALaterOneTakesTheEarlierOnesOut) {
    auto machine = of({"a", "b"}, false);
    machine.resume(Acquisition::Started{});
    entered(machine, {entry("a", State::admitted, 1)});
    machine.resume(Acquisition::Entered{failure(Effect::none)});
    EXPECT_EQ(left_in_line(machine), Resources{"a"});
}

TEST_F(Script, TimeUpDuringALaterEnterOfSeveralGivesAllBackUnlessItIsTheLast) {
    auto machine = of({"a", "b", "c"}, false);
    machine.resume(Acquisition::Started{});
    entered(machine, {entry("a", State::waiting)});
    pushed(machine, State::offered);
    EXPECT_EQ(claimed(machine, State::admitted, 1), Do::enter);
    EXPECT_EQ(machine.resume(Acquisition::TimeUp{}).what, Do::pass);
    EXPECT_EQ(entered(machine, {entry("b", State::admitted, 2)}), Do::finish);
    EXPECT_EQ(machine.end(), End::busy);
    EXPECT_EQ(left_in_line(machine), (Resources{"a", "b"}));
}

}  // namespace
}  // namespace holdfast::core
