#include "stores/net/conversation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/scarce_memory.hpp"

namespace holdfast::inline v0::net {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto limit = 5s;

Moment at(std::chrono::milliseconds since_start) {
    return Moment{1h} + since_start;
}

struct Request : Question<Answer<std::string>> {
    Request(
        std::string asked, Moment until, Answered told = [](const auto&) {})
        : Question(until, std::move(told)), name(std::move(asked)) {}
    std::string name;
};

std::vector<std::string> names_of(const Outbox<Request>::Requests& requests) {
    std::vector<std::string> names;
    for (const auto& request : requests) names.push_back(request->name);
    return names;
}

std::vector<std::string> names_of(const Outbox<Request>::GivenUps& given_up) {
    std::vector<std::string> names;
    for (const auto& one : given_up) names.push_back(one.request->name);
    return names;
}

/// A wire whose connection and clock are the test's.
class AConversation : public testing::Test {
protected:
    void submit(const std::string& name, std::chrono::milliseconds now = 0ms,
                WhenLost when_lost = WhenLost::repeat) {
        auto request = std::make_unique<Request>(name, at(now) + limit);
        request->when_lost = when_lost;
        conversation_.submit(std::move(request));
    }
    void send(std::chrono::milliseconds now = 0ms) { conversation_.all_sent(at(now)); }
    /// The only one that was given up.
    static Failure why(const Outbox<Request>::GivenUps& given_up) {
        EXPECT_EQ(given_up.size(), 1U);
        return given_up.empty() ? Failure{} : given_up.front().why;
    }

    Conversation<Request> conversation_{"store", limit};
};

TEST_F(AConversation, TellsAnAnswerOnceAndWhatItIsOf) {
    std::vector<Answer<std::string>> told;
    conversation_.submit(std::make_unique<Request>(
        "enter", at(0ms) + limit, [&](Answer<std::string> answer) { told.push_back(answer); }));
    send(7ms);
    Due due;
    finish(conversation_.answered(), std::string("admitted"), due);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_THAT(told, IsEmpty()) << "before the callbacks of the turn";
    due.front()();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].result.value(), "admitted");
    EXPECT_EQ(told[0].sent, at(7ms));
    EXPECT_FALSE(told[0].repeated);
    EXPECT_TRUE(conversation_.is_idle());
}

TEST_F(AConversation, CountsFromTheCopyThatIsAnswered) {
    submit("enter");
    send(1ms);
    EXPECT_THAT(conversation_.lost(), IsEmpty());
    send(20ms);
    const auto request = conversation_.answered();
    EXPECT_EQ(request->sent, at(20ms));
    EXPECT_TRUE(request->repeated);
}

TEST_F(AConversation, SaysThatWhatWasNeverSentHadNoEffect) {
    submit("enter");
    // Whatever is said of the attempt: no copy of this one was in it.
    EXPECT_THAT(
        conversation_.attempt_failed({errc::unreachable, Effect::unknown, "the door is shut"}),
        IsEmpty());
    EXPECT_THAT(conversation_.expire(at(4999ms)), IsEmpty());
    const Failure told = why(conversation_.expire(at(5s)));
    EXPECT_EQ(told.effect, Effect::none);
    EXPECT_EQ(told.sentence, "the door is shut");
}

TEST_F(AConversation, SaysThatWhatWasRefusedWithoutEffectHadNone) {
    submit("enter");
    send();
    auto refused = conversation_.answered();
    refused->trouble = Failure{errc::unreachable, Effect::none, "it is loading"};
    conversation_.send_again(std::move(refused));
    const Failure told = why(conversation_.expire(at(5s)));
    EXPECT_EQ(told.effect, Effect::none);
    EXPECT_EQ(told.sentence, "it is loading");
}

/// A copy of the only request was lost: however it ends, nobody knows what that copy has done.
class SentAgain : public AConversation {
protected:
    void SetUp() override {
        submit("enter");
        send();
        EXPECT_THAT(conversation_.lost(), IsEmpty());
        ASSERT_THAT(names_of(conversation_.waiting()), ElementsAre("enter"));
    }
};

TEST_F(SentAgain, IsUnknownWhenItsTimeIsUpBeforeItIsSent) {
    EXPECT_EQ(why(conversation_.expire(at(5s))).effect, Effect::unknown);
}

TEST_F(SentAgain, IsUnknownWhenItsTimeIsUpUnderWay) {
    send();
    ASSERT_TRUE(conversation_.is_overdue(at(5s)));
    EXPECT_THAT(conversation_.lost(), IsEmpty());
    EXPECT_EQ(why(conversation_.expire(at(5s))).effect, Effect::unknown);
}

TEST_F(SentAgain, IsUnknownWhenNoConnectionIsToBeHadAnyMore) {
    EXPECT_EQ(
        why(conversation_.attempt_failed({errc::bad_configuration, Effect::none, "NOAUTH"})).effect,
        Effect::unknown);
}

TEST_F(SentAgain, IsUnknownWhenTheServerRefusesIt) {
    send();
    const Failure told = conversation_.answered()->refused({errc::corrupt, Effect::none, "no"});
    EXPECT_EQ(told.effect, Effect::unknown);
    EXPECT_EQ(told.code, errc::corrupt);
}

TEST_F(SentAgain, IsUnknownAfterAPassingRefusal) {
    send();
    conversation_.send_again(conversation_.answered());
    EXPECT_EQ(why(conversation_.expire(at(5s))).effect, Effect::unknown);
}

TEST_F(SentAgain, SaysSoWhenItIsAnswered) {
    send();
    EXPECT_TRUE(conversation_.answered()->repeated);
}

TEST_F(AConversation, BelievesARefusalOfTheOnlyCopy) {
    submit("enter");
    submit("leave");
    send();
    EXPECT_EQ(conversation_.answered()->refused({errc::corrupt, Effect::none, {}}).effect,
              Effect::none);
    EXPECT_EQ(conversation_.answered()->refused({errc::corrupt, Effect::unknown, {}}).effect,
              Effect::unknown);
}

TEST_F(AConversation, SendsInTheOrderOfSubmissionAlsoWhatIsSentAgain) {
    for (const char* name : {"1", "2", "3"}) submit(name);
    send();
    auto first = conversation_.answered();
    submit("4");
    conversation_.send_again(std::move(first));
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("1", "4"));
    EXPECT_THAT(conversation_.lost(), IsEmpty());
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("1", "2", "3", "4"));
    EXPECT_FALSE(conversation_.waiting()[0]->repeated) << "its copy was answered";
    EXPECT_TRUE(conversation_.waiting()[1]->repeated);
    EXPECT_FALSE(conversation_.waiting()[3]->repeated) << "it was not sent yet";
}

TEST_F(AConversation, LosesItsConnectionForAnOverdueRequestAndGivesUpThatOneAlone) {
    submit("early", 0ms);
    submit("late", 100ms);
    send(100ms);
    EXPECT_EQ(conversation_.earliest(), at(5s));
    EXPECT_FALSE(conversation_.is_overdue(at(4999ms)));
    ASSERT_TRUE(conversation_.is_overdue(at(5s)));
    EXPECT_THAT(conversation_.lost(), IsEmpty());
    const auto given_up = conversation_.expire(at(5s));
    ASSERT_THAT(names_of(given_up), ElementsAre("early"));
    EXPECT_THAT(given_up[0].why.sentence, HasSubstr("store: no answer in 5000 ms"));
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("late"));
    EXPECT_EQ(conversation_.earliest(), at(5100ms));
    EXPECT_FALSE(conversation_.is_overdue(at(6s))) << "nothing is under way";
}

TEST_F(AConversation, TellsWhatMustNotBeRepeatedThatItWasLost) {
    submit("look");
    submit("delete", 0ms, WhenLost::tell);
    submit("create", 0ms, WhenLost::tell);
    send();
    submit("delete it later", 0ms, WhenLost::tell);
    const auto told = conversation_.lost();
    ASSERT_THAT(names_of(told), ElementsAre("delete", "create"));
    EXPECT_EQ(told[0].why.effect, Effect::unknown);
    EXPECT_TRUE(told[0].request->repeated);
    EXPECT_THAT(told[0].why.sentence, HasSubstr("the connection broke"));
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("look", "delete it later"));
}

TEST_F(AConversation, ForgetsNobodyWhenThereIsNoMemoryToLoseItsConnection) {
    for (std::size_t number = 1;; ++number) {
        submit("look");
        submit("delete", 0ms, WhenLost::tell);
        submit("look again");
        send();
        submit("enter");
        test::ScarceMemory memory(number);
        Outbox<Request>::GivenUps told;
        while (!memory.run([&] { told = conversation_.lost(); })) {
        }
        ASSERT_THAT(names_of(told), ElementsAre("delete"));
        ASSERT_THAT(names_of(conversation_.waiting()), ElementsAre("look", "look again", "enter"));
        Outbox<Request>::GivenUps given_up;
        test::ScarceMemory less(number);
        while (!less.run([&] { given_up = conversation_.expire(at(5s)); })) {
        }
        ASSERT_THAT(names_of(given_up), ElementsAre("look", "look again", "enter"));
        if (!memory.has_failed() && !less.has_failed()) break;
    }
}

TEST_F(AConversation, BeginsAnewWithWhatBelongsToOneConnection) {
    const auto begin_with = [&](const char* name) {
        conversation_.begin_with(std::make_unique<Request>(name, Moment::max()));
    };
    submit("enter");
    begin_with("track 1");
    begin_with("track 2");
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("track 2", "enter"));
    send();
    EXPECT_THAT(conversation_.lost(), IsEmpty());
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("enter"));
    begin_with("track 3");
    EXPECT_THAT(conversation_.lost(), IsEmpty()) << "lost before it was sent";
    EXPECT_THAT(names_of(conversation_.waiting()), ElementsAre("enter"));
}

TEST_F(AConversation, EndsAllThatWaitsWhenTryingAgainIsHopeless) {
    submit("1");
    submit("2");
    const auto told =
        conversation_.attempt_failed({errc::bad_configuration, Effect::none, "WRONGPASS"});
    EXPECT_THAT(names_of(told), ElementsAre("1", "2"));
    EXPECT_EQ(told[0].why.sentence, "WRONGPASS");
    EXPECT_EQ(told[0].why.effect, Effect::none);
    EXPECT_TRUE(conversation_.is_idle());
}

TEST_F(AConversation, RemembersWhyThereIsNoConnectionUntilThereIs) {
    const Failure refused{errc::unreachable, Effect::none, "connection refused"};
    EXPECT_THAT(conversation_.attempt_failed(refused), IsEmpty());
    submit("later than the attempt");
    EXPECT_EQ(why(conversation_.expire(at(5s))).sentence, "connection refused");
    conversation_.connected();
    submit("unanswered");
    EXPECT_THAT(why(conversation_.expire(at(5s))).sentence, HasSubstr("no answer in"));
}

TEST_F(AConversation, ForgetsWhatARequestMetWhenItIsSentOnceMore) {
    submit("enter");
    send();
    auto refused = conversation_.answered();
    refused->trouble = Failure{errc::unreachable, Effect::none, "it is loading"};
    conversation_.send_again(std::move(refused));
    send();
    EXPECT_THAT(conversation_.lost(), IsEmpty());
    EXPECT_THAT(why(conversation_.expire(at(5s))).sentence, HasSubstr("no answer in"));
}

TEST_F(AConversation, IsHeldBackUntilThatIsOver) {
    conversation_.hold_back(at(50ms));
    EXPECT_EQ(conversation_.earliest(), Moment::max()) << "nobody waits";
    submit("enter");
    EXPECT_EQ(conversation_.earliest(), at(50ms));
    conversation_.go_on(at(49ms));
    EXPECT_TRUE(conversation_.is_held_back());
    conversation_.go_on(at(50ms));
    EXPECT_FALSE(conversation_.is_held_back());
    EXPECT_EQ(conversation_.earliest(), at(5s));
}

TEST_F(AConversation, GivesUpWhatIsHeldBackInItsTime) {
    submit("enter");
    conversation_.hold_back(at(1min));
    EXPECT_EQ(conversation_.earliest(), at(5s));
    EXPECT_THAT(names_of(conversation_.expire(at(5s))), ElementsAre("enter"));
}

TEST(AnOutbox, HandsOutWhicheverIsChosen) {
    Outbox<Request> outbox("store", limit);
    for (const char* name : {"1", "2", "3"}) {
        outbox.submit(std::make_unique<Request>(name, at(0ms) + limit));
    }
    auto second = outbox.take(outbox.waiting().begin() + 1, at(3ms));
    auto third = outbox.take(outbox.waiting().begin() + 1, at(3ms));
    EXPECT_EQ(second->name, "2");
    EXPECT_EQ(second->sent, at(3ms));
    outbox.send_again(std::move(third));
    outbox.send_again(std::move(second));
    EXPECT_THAT(names_of(outbox.waiting()), ElementsAre("1", "2", "3"));
}

}  // namespace
}  // namespace holdfast::inline v0::net
