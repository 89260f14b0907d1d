#include "stores/scripted/scripted_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "stores/scripted/words.hpp"

/// What is done about answers and pushes that are lost, late or doubled, on a server that says what
/// the test wants.
namespace holdfast::scripted {
namespace {

using namespace std::chrono_literals;
using State = Standing::State;

struct FakeRequest {
    std::string verb;
    std::vector<Nonce> nonces = {};
    std::chrono::milliseconds tombstone{0};
};
struct FakeReply {
    std::vector<Standing> standings = {};
    std::string next = {};
};
struct FakeAnswer {
    Result<FakeReply> result;
    bool repeated = false;
};

class FakeWire final : public Wire {
public:
    class Listener {
    public:
        virtual ~Listener() = default;
        virtual void missed() = 0;
        virtual void pushed(const std::string& message) = 0;
    };
    ~FakeWire() override { close(); }

    void submit(FakeRequest request, Callback<void(FakeAnswer)> answered) {
        sent.push_back({std::move(request), std::move(answered)});
    }
    void listen(const std::weak_ptr<Listener>& listener) { heard_by = listener; }
    std::uint64_t listening() const { return period; }

    struct Sent {
        FakeRequest request;
        Callback<void(FakeAnswer)> answered;
    };
    /// In the order in which they are to be answered.
    std::deque<Sent> sent;
    std::weak_ptr<Listener> heard_by;
    std::uint64_t period = 0;

private:
    bool needs_pump() const noexcept override { return false; }
};

struct FakeListing {
    using Reply = FakeReply;
    using Inquiry = scripted::Inquiry<FakeRequest>;

    std::vector<Inquiry> start() { return {{{.verb = "inspect"}, "first"}}; }
    std::vector<Inquiry> take(const std::string& about, const FakeReply& reply) {
        found.push_back({.resource = about, .holders = {}, .waiters = {}});
        if (reply.next.empty()) return {};
        return {{{.verb = "inspect"}, reply.next}, {{.verb = "inspect"}, reply.next + "+"}};
    }
    Result<std::vector<Line>> lines() { return found; }

    std::vector<Line> found = {};
};

/// Each ticket travels alone when it is renewed.
struct FakeRequests {
    using Objection = std::optional<std::string>;

    Capabilities capabilities() const { return {}; }
    Objection objection_to(const std::string&) const { return std::nullopt; }
    Objection objection_to(const Contender& one) const {
        return one.resource == "unheard-of" ? Objection("no such name") : std::nullopt;
    }
    Objection objection_to(const Ticket&, std::chrono::milliseconds) const { return std::nullopt; }

    FakeRequest greeting() const { return {.verb = "greeting"}; }
    FakeRequest enter(std::span<const Contender> contenders) const {
        FakeRequest request{.verb = "enter"};
        for (const Contender& one : contenders) request.nonces.push_back(one.nonce);
        return request;
    }
    FakeRequest standing(const Ticket& ticket) const {
        return {.verb = "standing", .nonces = {ticket.nonce}};
    }
    std::vector<Batch<FakeRequest>> renewals(std::span<const Ticket> tickets,
                                             std::span<const std::size_t> which,
                                             const Extension&) const {
        std::vector<Batch<FakeRequest>> batches;
        for (const std::size_t i : which) {
            batches.push_back({{.verb = "renew", .nonces = {tickets[i].nonce}}, {i}});
        }
        return batches;
    }
    FakeRequest leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const {
        return {.verb = "leave", .nonces = {ticket.nonce}, .tombstone = tombstone};
    }
};

struct FakeAnswers {
    Result<std::vector<Entry>> entries(const FakeReply& reply,
                                       std::span<const Contender> contenders) const {
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < reply.standings.size(); ++i) {
            const Contender& one = contenders[i];
            entries.push_back({{one.resource, one.nonce, "1"}, reply.standings[i]});
        }
        return entries;
    }
    Result<std::vector<Standing>> standings(const FakeReply& reply, std::size_t) const {
        return reply.standings;
    }
    Result<Standing> left(const FakeReply& reply) const { return reply.standings.front(); }
    News news(const std::string& message) const { return news_in(message); }
};

struct FakeProtocol {
    using Request = FakeRequest;
    using Reply = FakeReply;
    using Answer = FakeAnswer;
    using Message = std::string;
    using Wire = FakeWire;
    using Listing = FakeListing;

    FakeWire& wire() { return wire_; }
    Waiters& waiters() { return waiters_; }
    const std::string& description() const { return description_; }
    const FakeRequests& requests() const { return requests_; }
    const FakeAnswers& answers() const { return answers_; }
    Result<FakeListing> listing(const std::string&) const { return FakeListing{}; }
    FakeListing listing_of_one(const std::string&) const { return {}; }

    const std::string description_ = "fake";
    const FakeRequests requests_ = {};
    const FakeAnswers answers_ = {};
    Waiters waiters_;
    FakeWire wire_;
};

Nonce nonce(int number) {
    Nonce made;
    made.bytes[0] = static_cast<std::byte>(number);
    return made;
}
/// As news_in() reads it.
std::string offer_to(int number) {
    return hex_of(nonce(number)) + " o";
}
Contender contender(int number) {
    return {.resource = "r", .nonce = nonce(number), .owner = "me", .lease = 30s};
}
Ticket ticket(int number, std::string place = "1") {
    return {"r", nonce(number), std::move(place)};
}
const Failure lost{errc::unreachable, Effect::unknown, "no answer"};
const Failure refused{errc::unreachable, Effect::none, "refused"};

class AScriptedStore : public testing::Test {
protected:
    FakeWire& wire() { return store_->wire(); }
    Pending<std::vector<Entry>> enter(int number) {
        const Contender one = contender(number);
        return store_->enter({&one, 1});
    }
    /// Answers the first request that is not answered yet.
    void answer(FakeAnswer answer) {
        ASSERT_FALSE(wire().sent.empty());
        const auto sent = std::move(wire().sent.front());
        wire().sent.pop_front();
        sent.answered(std::move(answer));
    }
    void answer(State state) { answer({FakeReply{{{.state = state}}}}); }
    void answer_a_repeated_one(State state) { answer({FakeReply{{{.state = state}}}, true}); }
    void wait_in_line(int number) {
        auto entering = enter(number);
        answer(State::waiting);
        EXPECT_TRUE(std::move(entering).get().ok());
    }
    /// A watch that counts how often it was told that it is its turn.
    std::unique_ptr<Watch> watch(int number) {
        return store_->watch(ticket(number), [this](const Standing& standing) {
            if (standing.state == State::offered) ++offers_;
        });
    }
    /// The verb of the first request that is not answered yet.
    std::string asked() { return wire().sent.empty() ? "nothing" : wire().sent[0].request.verb; }
    bool plants_tombstone() {
        return asked() == "leave" && wire().sent[0].request.tombstone == tombstone_time;
    }

    std::shared_ptr<ScriptedStore<FakeProtocol>> store_ =
        std::make_shared<ScriptedStore<FakeProtocol>>();
    int offers_ = 0;
};

TEST_F(AScriptedStore, SendsNothingThatTheServerCannotHave) {
    Contender one = contender(1);
    one.resource = "unheard-of";
    const auto result = store_->enter({&one, 1}).get();
    EXPECT_EQ(result.failure().code, errc::invalid_argument);
    EXPECT_EQ(asked(), "nothing");
}

TEST_F(AScriptedStore, PlantsNoTombstoneForAnEnterThatWasAnsweredOnce) {
    auto entering = enter(1);
    answer(State::admitted);
    auto leaving = store_->leave(std::move(entering).get().value()[0].ticket);
    EXPECT_EQ(asked(), "leave");
    EXPECT_FALSE(plants_tombstone());
    answer(State::admitted);
    EXPECT_TRUE(std::move(leaving).get().ok());
}

TEST_F(AScriptedStore, PlantsATombstoneForAnEnterThatWasSentTwice) {
    auto entering = enter(1);
    answer_a_repeated_one(State::admitted);
    const auto leaving = store_->leave(std::move(entering).get().value()[0].ticket);
    EXPECT_TRUE(plants_tombstone());
}

TEST_F(AScriptedStore, WithdrawsAnEnterThatWasSentTwiceAndIsNotInLine) {
    const auto entering = enter(1);
    answer_a_repeated_one(State::gone);
    EXPECT_TRUE(plants_tombstone());
}

TEST_F(AScriptedStore, CannotKnowTheEffectOfAnEnterThatWasSentTwiceAndRefused) {
    auto entering = enter(1);
    answer({refused, true});
    EXPECT_EQ(std::move(entering).get().failure().effect, Effect::unknown);
}

TEST_F(AScriptedStore, WithdrawsWhatNobodyWantsUntilThatIsAnswered) {
    static_cast<void>(enter(1));
    answer(State::admitted);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(plants_tombstone());
        answer({lost});
    }
    EXPECT_TRUE(plants_tombstone());
    answer(State::admitted);
    EXPECT_EQ(asked(), "nothing");
}

TEST_F(AScriptedStore, WithdrawsWhatNobodyWantsAndMayHaveHappened) {
    static_cast<void>(enter(1));
    answer({lost});
    EXPECT_TRUE(plants_tombstone());
    for (int i = 0; i < most_withdrawals; ++i) answer({lost});
    EXPECT_EQ(asked(), "nothing") << "in the end it is its lease that ends it";
}

TEST_F(AScriptedStore, WithdrawsNothingThatHadNoEffect) {
    static_cast<void>(enter(1));
    answer({refused});
    EXPECT_EQ(asked(), "nothing");
}

TEST_F(AScriptedStore, HasPerhapsLeftWhenALeaveThatWasSentTwiceFindsNothing) {
    auto once = store_->leave(ticket(1));
    answer(State::gone);
    EXPECT_EQ(std::move(once).get().value().state, State::gone);
    auto twice = store_->leave(ticket(1));
    answer_a_repeated_one(State::gone);
    EXPECT_EQ(std::move(twice).get().failure().effect, Effect::unknown);
    auto found = store_->leave(ticket(1));
    answer_a_repeated_one(State::admitted);
    EXPECT_EQ(std::move(found).get().value().state, State::admitted);
}

TEST_F(AScriptedStore, KeepsWhatIsPushedBeforeItIsWatched) {
    wire().period = 1;
    auto entering = enter(1);
    store_->pushed(offer_to(1));
    answer(State::waiting);
    EXPECT_TRUE(std::move(entering).get().ok());
    const auto watched = watch(1);
    EXPECT_EQ(offers_, 1);
    EXPECT_EQ(asked(), "nothing");
}

TEST_F(AScriptedStore, AsksForOneThatEnteredWhenNothingWasHeard) {
    wait_in_line(1);
    const auto watched = watch(1);
    EXPECT_TRUE(wire().heard_by.lock());
    EXPECT_EQ(asked(), "nothing") << "before it is heard";
    wire().period = 1;
    store_->missed();
    EXPECT_EQ(asked(), "standing");
    answer(State::offered);
    EXPECT_EQ(offers_, 1);
}

TEST_F(AScriptedStore, AsksForAllThatAreWatchedAfterAGap) {
    wire().period = 1;
    std::vector<std::unique_ptr<Watch>> watches;
    for (const int number : {1, 2, 3}) {
        wait_in_line(number);
        if (number != 3) watches.push_back(watch(number));
    }
    wire().period = 2;
    store_->missed();
    ASSERT_EQ(wire().sent.size(), 2U);
    answer(State::offered);
    answer({lost});
    EXPECT_EQ(offers_, 1);
    const auto late = watch(3);
    EXPECT_EQ(asked(), "standing") << "it entered before the gap";
}

TEST_F(AScriptedStore, AnswersARenewalOnceAllOfItIsAnswered) {
    const std::vector tickets{ticket(1), ticket(2)};
    auto renewing = store_->renew(tickets, 30s);
    std::swap(wire().sent[0], wire().sent[1]);
    answer(State::gone);
    answer(State::admitted);
    const auto standings = std::move(renewing).get();
    EXPECT_EQ(standings.value()[0].state, State::admitted);
    EXPECT_EQ(standings.value()[1].state, State::gone);

    auto failing = store_->renew(tickets, 30s);
    answer({lost});
    answer({lost});
    EXPECT_EQ(std::move(failing).get().failure().effect, Effect::unknown);
    EXPECT_TRUE(store_->renew({}, 30s).get().value().empty());
}

TEST_F(AScriptedStore, TellsOfOneRenewalThatFailedAndAnswersTheOthers) {
    const std::vector tickets{ticket(1), ticket(2)};
    auto renewing = store_->renew(tickets, 30s);
    answer({lost});
    answer(State::admitted);
    const auto standings = std::move(renewing).get();
    ASSERT_TRUE(standings.ok());
    EXPECT_TRUE(is_unanswered(standings.value()[0]));
    EXPECT_EQ(standings.value()[1].state, State::admitted);
}

TEST_F(AScriptedStore, ListsOncePageAfterPageIsAnswered) {
    auto listing = store_->inspect("");
    answer({FakeReply{.next = "second"}});
    answer({FakeReply{}});
    answer({FakeReply{}});
    EXPECT_EQ(std::move(listing).get().value().size(), 3U);

    auto failing = store_->look_at("r");
    answer({FakeReply{.next = "second"}});
    answer({refused});
    answer({FakeReply{}});
    EXPECT_EQ(std::move(failing).get().failure().sentence, "refused");
}

TEST_F(AScriptedStore, HasNothingToSweepWhereTheServerDoesThat) {
    EXPECT_TRUE(store_->sweep("").get().value().next.empty());
    EXPECT_EQ(asked(), "nothing");
}

TEST_F(AScriptedStore, TellsNobodyOnceItIsGone) {
    FakeWire::Sent sent;
    {
        const auto entering = enter(1);
        sent = std::move(wire().sent.front());
        wire().sent.clear();
    }
    store_.reset();
    sent.answered({FakeReply{{{.state = State::admitted}}}});
}

}  // namespace
}  // namespace holdfast::scripted
