#include "stores/listed/listed_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "stores/listed/renewal.hpp"
#include "support/await.hpp"

namespace holdfast::listed {
namespace {

using namespace std::chrono_literals;
using State = Standing::State;

constexpr std::int64_t session = 1;

Contender contender(unsigned char number, std::uint64_t weight = all, std::uint64_t capacity = all,
                    std::chrono::milliseconds lease = 1h) {
    Contender one{.resource = "orders", .nonce = {{std::byte{number}}}, .owner = "me"};
    one.weight = weight;
    one.capacity = capacity;
    one.lease = lease;
    return one;
}

/// One line in memory, of which what is asked for is remembered, and done at once.
class FakeProtocol final : public Protocol {
public:
    enum class Events : std::uint8_t { trusted, only_hints };
    explicit FakeProtocol(Events events) : events_(events) {}

    std::vector<Neighbour> line;
    std::vector<std::string> watched;
    std::vector<std::string> removed;
    std::vector<std::string> told_behind;
    std::function<void(const std::string& node)> on_unwatch;
    std::vector<std::string> taken_out;
    bool answers = true;  ///< to removals
    bool answers_watches = true;
    bool session_there = true;
    int throws = 0;  ///< so many removals

    void enter(std::span<const Contender> contenders,
               std::shared_ptr<EntryFlight> flight) override {
        const Contender& one = contenders.front();
        const auto made_by = static_cast<std::int64_t>(++changes_);
        const std::string node = "n" + std::to_string(made_by);
        line.push_back({node, made_by, one.weight, one.capacity, one.nonce});
        Entrant entrant{.contender = one,
                        .path = "orders",
                        .node = node,
                        .session = session,
                        .fence = static_cast<std::uint64_t>(made_by),
                        .lease_end = BootClock::now() + one.lease};
        const auto judgement = judge(line, node);
        entrant.admitted = judgement.verdict == Judgement::Verdict::admitted;
        if (!entrant.admitted) lines.place(entrant, judgement, made_by);
        const State state = entrant.admitted ? State::admitted : State::waiting;
        const Ticket ticket = entrant.ticket();
        lines.entrants.add(std::move(entrant));
        flight->complete(std::vector<Entry>{{ticket, {.state = state}}});
    }
    Pending<Standing> look_at(const Entrant& entrant) override {
        return lines.stands(entrant, line, static_cast<std::int64_t>(changes_));
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        std::vector<Standing> standings(tickets.size());
        for (const Renewed& one : begin_renewal(lines, tickets, extension)) {
            const Moment now = BootClock::now();
            const Standing standing = lines.stands(one.entrant, line, 0);
            standings[one.ticket] =
                renewed_as(lines, one, standing, extension, {now, now + extension.lease});
        }
        return standings;
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        const auto entrant = lines.forget(ticket.nonce);
        if (entrant) end(entrant->node);
        return Standing{};
    }
    Pending<std::vector<Line>> inspect(std::string) override { return std::vector<Line>{}; }
    Pending<std::vector<Line>> inspect_one(const std::string&) override {
        return std::vector<Line>{};
    }
    Capabilities capabilities() const override { return {}; }
    Wire& wire() override { return wire_; }
    std::string shown() const override { return "a fake"; }

    bool goes_by_events(const Entrant&) const override { return events_ == Events::trusted; }
    void watch(const Entrant& entrant) override {
        watched = entrant.watched;
        if (answers_watches) lines.entrants.is_watched(entrant.node, entrant.session);
    }
    void unwatch(const std::string& node) override {
        if (on_unwatch) on_unwatch(node);
    }
    void tell_those_behind(const Entrant& entrant) override { told_behind.push_back(entrant.node); }
    void take_out_behind(const Entrant& entrant, const Neighbour& other,
                         Callback<void()> is_out) override {
        if (!has(other.node)) return;
        end(entrant.node);
        is_out();
    }
    void was_taken_out(const Entrant& entrant) override { taken_out.push_back(entrant.node); }
    void take_back(const Entrant& entrant) override {
        lines.remove({.incarnation = entrant.incarnation()});
    }
    void outlived(const Entrant& entrant) override { end(entrant.node); }
    bool is_over(const Removal&) const override { return !session_there; }
    void remove(const Removal& removal) override {
        if (throws > 0 && throws-- > 0) throw std::bad_alloc();
        removed.push_back(removal.incarnation.node);
        if (!answers) return lines.removal_unanswered(removal);
        end(removal.incarnation.node);
        lines.was_removed(removal);
    }

    bool has(const std::string& node) const {
        return std::ranges::find(line, node, &Neighbour::node) != line.end();
    }
    void end(const std::string& node) {
        std::erase_if(line, [&](const Neighbour& one) { return one.node == node; });
    }

private:
    const Events events_;
    Wire wire_;
    std::uint64_t changes_ = 0;
};

class AListedStore : public testing::Test {
protected:
    using Events = FakeProtocol::Events;

    void use(Events events) {
        server = std::make_shared<FakeProtocol>(events);
        store = store_on(server);
    }
    Ticket enter(const Contender& one) {
        return store->enter(std::span(&one, 1)).get().value().front().ticket;
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket) {
        return store->watch(ticket, [this](const Standing& told) { heard.push_back(told.state); });
    }
    Standing standing(const Ticket& ticket) { return store->standing(ticket).get().value(); }

    std::shared_ptr<FakeProtocol> server = std::make_shared<FakeProtocol>(Events::trusted);
    std::shared_ptr<Store> store = store_on(server);
    std::vector<State> heard;
};

TEST_F(AListedStore, AdmitsByTheEndOfTheOnlyOneAhead) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto watching = watch(second);
    EXPECT_EQ(server->watched, (std::vector<std::string>{"n2", "n1"})) << "its own first";
    server->lines.stir("n1", NodeEvent::ended);
    EXPECT_EQ(heard, std::vector{State::waiting});
    EXPECT_EQ(standing(second).state, State::admitted) << "the list is not asked for";
}

TEST_F(AListedStore, TellsAWaiterWhoseOwnNodeEndedThatItIsGone) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto watching = watch(second);
    server->lines.stir("n2", NodeEvent::ended);
    EXPECT_EQ(heard, std::vector{State::gone});
    server->lines.stir("n1", NodeEvent::ended);
    EXPECT_EQ(heard.size(), 1U) << "whoever goes ahead of it is nothing to it any more";
    EXPECT_EQ(standing(second).state, State::gone);
}

TEST_F(AListedStore, TellsOneThatWatchesLateThatItsNodeHadEnded) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    server->lines.stir("n2", NodeEvent::ended);
    const auto watching = watch(second);
    EXPECT_EQ(heard, std::vector{State::gone});
}

TEST_F(AListedStore, LooksAtTheListWhenItsOwnNodeWasChangedInAWayThatNobodyTold) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto watching = watch(second);
    server->end("n2");
    server->lines.stir("n2", NodeEvent::changed);
    server->lines.stir("n1", NodeEvent::ended);
    EXPECT_EQ(heard, (std::vector{State::waiting, State::waiting}));
    EXPECT_EQ(standing(second).state, State::gone);
}

TEST_F(AListedStore, LooksAtTheListWhileItsOwnNodeIsNotWatchedYet) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    server->answers_watches = false;
    const auto watching = watch(second);
    // Which another contender of this client has watched before.
    server->lines.stir("n1", NodeEvent::ended);
    EXPECT_EQ(standing(second).state, State::waiting) << "by the list n1 is there";
}

TEST_F(AListedStore, DoesNotAdmitOneThatTheListDoesNotShow) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto watching = watch(second);
    server->lines.stir("n1", NodeEvent::ended);
    server->end("n2");
    EXPECT_EQ(standing(second).state, State::gone) << "though it was its turn";
    EXPECT_EQ(server->taken_out, std::vector<std::string>{"n2"});
}

TEST_F(AListedStore, TellsOneThatFoundWatchedWhatNobodyWatchesAnyMore) {
    use(Events::only_hints);
    enter(contender(1));
    const Ticket second = enter(contender(2));
    std::unique_ptr<Watch> watching;
    server->on_unwatch = [&](const std::string& node) {
        if (node != "n2" || watching) return;
        // That nobody waits for n2 was seen before.
        watching = watch(enter(contender(3)));
    };
    static_cast<void>(store->leave(second).get());
    ASSERT_TRUE(watching);
    EXPECT_EQ(heard, std::vector{State::waiting}) << "it is to look again, and to watch";
}

TEST_F(AListedStore, LooksAtTheListWhereEventsAreOnlyHints) {
    use(Events::only_hints);
    enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto watching = watch(second);
    server->lines.stir("n1", NodeEvent::ended);
    EXPECT_EQ(standing(second).state, State::waiting) << "by the list n1 is there";
    server->lines.stir("n2", NodeEvent::ended);
    EXPECT_EQ(standing(second).state, State::waiting) << "another one had that name";
    EXPECT_EQ(heard, (std::vector{State::waiting, State::waiting}));
    server->end("n1");
    server->end("n2");
    EXPECT_EQ(standing(second).state, State::gone) << "though nobody is ahead of it";
}

TEST_F(AListedStore, TellsWhatStirredBeforeSomebodyWatched) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    server->lines.stir("n1", NodeEvent::changed);
    const auto watching = watch(second);
    EXPECT_EQ(heard, std::vector{State::waiting});
}

TEST_F(AListedStore, RefusesTheLaterOfTwoThatDisagree) {
    enter(contender(1, 1, 3));
    enter(contender(2, 1, 5));
    const Ticket third = enter(contender(3, 1, 3));
    const auto watching = watch(third);
    EXPECT_EQ(standing(third).state, State::waiting) << "behind one that disagrees";
    server->end("n1");
    EXPECT_EQ(standing(third).state, State::waiting);
    EXPECT_EQ(heard, std::vector{State::gone}) << "of n2, which is the first, and came earlier";
    EXPECT_TRUE(server->has("n2"));
    EXPECT_FALSE(server->has("n3"));
    EXPECT_EQ(standing(third).state, State::gone);
}

TEST_F(AListedStore, TakesNobodyOutForTheSakeOfOneThatHasLeft) {
    enter(contender(1, 1, 5));
    const Ticket second = enter(contender(2, 1, 3));
    const auto watching = watch(second);
    const auto seen = server->line;
    server->end("n1");
    server->lines.stands(*server->lines.entrants.find(second.nonce), seen, 0);
    EXPECT_TRUE(heard.empty());
    EXPECT_TRUE(server->has("n2"));
    EXPECT_EQ(standing(second).state, State::admitted) << "it is the first by now";
}

TEST_F(AListedStore, DoesNotAdmitOneThatWasTakenOutWhileItsLineWasListed) {
    enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto seen = *server->lines.entrants.find(second.nonce);
    auto listed = server->line;
    listed.erase(listed.begin());
    static_cast<void>(store->leave(second).get());
    EXPECT_EQ(server->lines.stands(seen, listed, 0).state, State::gone);
}

TEST_F(AListedStore, TakesWhoseLeaseHasEndedOutOfLineWithTheNextVerb) {
    const Ticket first = enter(contender(1, all, all, 0ms));
    const auto watching = watch(first);
    EXPECT_TRUE(server->has("n1"));
    enter(contender(2));
    EXPECT_EQ(heard, std::vector{State::gone});
    EXPECT_EQ(server->removed, std::vector<std::string>{"n1"});
    EXPECT_EQ(store->renew(std::span(&first, 1), {1h}).get().value().front().state, State::gone);
}

TEST_F(AListedStore, RemovesAgainWhatWasNotAnsweredWhileItsSessionIsThere) {
    server->answers = false;
    enter(contender(1, all, all, 0ms));
    enter(contender(2));
    EXPECT_EQ(server->removed.size(), 1U);
    server->lines.remove_later({.incarnation = {session, 1, "n1"}});
    server->answers = true;
    server->lines.tidy();
    EXPECT_EQ(server->removed.size(), 2U);
    server->lines.tidy();
    EXPECT_EQ(server->removed.size(), 2U) << "that was answered";
    server->lines.remove_later({.incarnation = {session, 7, "n7"}});
    server->session_there = false;
    server->lines.tidy();
    EXPECT_EQ(server->removed.size(), 2U) << "it has gone with its session";
}

TEST_F(AListedStore, RemovesAgainWhatCouldNotEvenBeAskedFor) {
    const Ticket first = enter(contender(1));
    const Ticket second = enter(contender(2));
    const auto watching = watch(second);
    for (const Ticket& ticket : {first, second}) {
        EXPECT_TRUE(server->lines.entrants.renewed(ticket.nonce, 1, {})) << "their leases end";
    }
    server->throws = 2;
    EXPECT_THROW(standing(first), std::bad_alloc);
    EXPECT_EQ(heard, std::vector{State::gone}) << "though the one before it has thrown";
    server->throws = 1;
    const auto all_removed = [&] {
        try {
            standing(first);
        } catch (const std::bad_alloc&) {
            // The others are removed all the same.
        }
        return server->removed.size() == 2;
    };
    EXPECT_TRUE(test::await(all_removed, 5s));
}

TEST_F(AListedStore, TellsAllOfASessionThatIsOverThatTheyAreGone) {
    const Ticket first = enter(contender(1));
    const auto watching = watch(first);
    server->lines.session_over(session + 1);
    EXPECT_TRUE(heard.empty());
    server->lines.session_over(session);
    EXPECT_EQ(heard, std::vector{State::gone});
    EXPECT_FALSE(server->has("n1"));
}

TEST_F(AListedStore, SaysOnceToThoseBehindThatOneWithPermitsWasAdmitted) {
    enter(contender(1, 2, 3));
    const Ticket second = enter(contender(2, 2, 3));
    server->end("n1");
    EXPECT_EQ(standing(second).state, State::admitted);
    EXPECT_EQ(standing(second).state, State::admitted);
    EXPECT_EQ(server->told_behind, std::vector<std::string>{"n2"});
}

TEST_F(AListedStore, TakesOutWhatNobodyWantsAnyMore) {
    const Contender one = contender(1);
    { const auto dropped = store->enter(std::span(&one, 1)); }
    EXPECT_FALSE(server->has("n1"));
}

}  // namespace
}  // namespace holdfast::listed
