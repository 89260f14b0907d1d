#include <fstream>

#include "faults/redlock_faults.hpp"
#include "support/temporary_folder.hpp"

/// Nodes whose clocks differ, and that are set back.
namespace holdfast::test {
namespace {

/// A node whose clock the test sets.
class NodeWithClock {
public:
    void set_ahead(int seconds) const {
        std::ofstream(folder_.path() / "new") << seconds;
        std::filesystem::rename(folder_.path() / "new", clock_);
    }
    RedisServer& server() { return server_; }

private:
    TemporaryFolder folder_;
    const std::filesystem::path clock_ = folder_.path() / "ahead";
    RedisServer server_{{.under = {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                                   "HOLDFAST_TEST_CLOCK=" + clock_.string()}}};
};

class RedlockClock : public testing::Test {
protected:
    std::string url(const std::string& parameters) {
        return RedisNodes::url_at(
            {first_.server().port(), second_.server().port(), third_.server().port()}, parameters);
    }
    const std::string& set_of_new_ones(const std::string& parameters) {
        EXPECT_EQ(open_store(url(parameters)).store->initialize().get().value(), 3U);
        return url_ = url(parameters);
    }
    void set_all(int seconds) {
        for (const auto* one : {&first_, &second_, &third_}) one->set_ahead(seconds);
    }

    static Contender somebody() {
        return {.resource = "orders", .nonce = {{std::byte{1}}}, .owner = "somebody", .lease = 60s};
    }
    /// So that it counts at once, and agrees with whoever comes first.
    static void forget_clients_of(const RedisServer& server) {
        const std::string marker = server.command({"GET", "holdfast/=run"});
        server.command({"SET", "holdfast/=run", marker.substr(0, marker.find(' ')) + " 0"});
    }
    /// Of a hold that the third node alone counts.
    static void expect_not_renewed(Store& store, const Ticket& ticket) {
        const auto standings = store.renew({&ticket, 1}, 60s).get();
        ASSERT_FALSE(standings.ok());
        EXPECT_EQ(standings.failure().code, errc::unreachable) << standings.failure().sentence;
    }

    NodeWithClock first_;
    NodeWithClock second_;
    NodeWithClock third_;

private:
    std::string url_;
};

/// The first hold has its fence from the clock that is ahead, the second one is let in by the
/// others: one of them must have been told.
TEST_F(RedlockClock, AFenceOfOneThatIsAheadIsKnownToTheOthers) {
    third_.set_ahead(20);
    const auto where = set_of_new_ones("?request_timeout=500ms");
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        first_.server().pause();
        {
            const Hold hold = connect(where).mutex("orders").acquire();
            EXPECT_GT(hold.fence(), last);
            last = hold.fence();
        }
        first_.server().resume();
        third_.server().pause();
        {
            const Hold hold = connect(where).mutex("orders").acquire();
            EXPECT_GT(hold.fence(), last);
            last = hold.fence();
        }
        third_.server().resume();
    }
}

/// No majority stores its fences, and it is done without.
TEST_F(RedlockClock, OneThatIsAnHourAheadStopsNobody) {
    third_.set_ahead(3600);
    const Client client = connect(set_of_new_ones("?request_timeout=500ms"));
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) {
        const Hold hold = client.mutex("orders").acquire();
        EXPECT_GT(hold.fence(), last);
        last = hold.fence();
    }
}

TEST_F(RedlockClock, WhenThoseThatAreLeftDifferThatIsSaid) {
    second_.set_ahead(3600);
    const Client client = connect(set_of_new_ones("?request_timeout=500ms"));
    third_.server().kill();
    const auto said = sentence_of([&] { static_cast<void>(client.mutex("orders").try_acquire()); },
                                  errc::unreachable);
    EXPECT_NE(said.find("clocks of the nodes"), std::string::npos) << said;
}

/// They have its fence, and store nothing new.
TEST_F(RedlockClock, AHoldOutlivesThatAllAreSetBack) {
    set_all(600);
    const Client client = connect(set_of_new_ones("?max_lease=3s"));
    Hold hold = client.mutex("orders", {.lease = 900ms}).acquire();
    set_all(0);
    EXPECT_FALSE(await([&] { return hold.lost().stop_requested(); }, 1500ms));
    EXPECT_EQ(hold.release(), Released::in_time);
}

/// Also behind the moment since when they are known: they have forgotten nothing.
TEST_F(RedlockClock, AHoldOutlivesThatAllAreSetBackBehindTheirStart) {
    set_all(600);
    const Client client = connect(url("?max_lease=1s"));
    auto attempt = client.mutex("orders", {.lease = 900ms}).try_acquire_for(10s);
    ASSERT_TRUE(attempt);
    set_all(0);
    EXPECT_FALSE(await([&] { return attempt->lost().stop_requested(); }, 1500ms));
    EXPECT_EQ(attempt->release(), Released::in_time);
}

/// They may have let in somebody else since they wrote what they were started with.
TEST_F(RedlockClock, AHoldIsNotCountedByNodesThatWereSetBackAndStartedAgain) {
    set_all(600);
    const auto store = open_store(set_of_new_ones("")).store;
    const Contender one = somebody();
    const Ticket ticket = store->enter({&one, 1}).get().value().at(0).ticket;
    set_all(0);
    for (auto* node : {&first_, &second_}) node->server().restart();
    expect_not_renewed(*store, ticket);
}

TEST_F(RedlockClock, AHoldIsNotCountedByNodesThatWereStartedAgainAndSetBack) {
    set_all(600);
    const auto store = open_store(set_of_new_ones("")).store;
    const Contender one = somebody();
    const Ticket ticket = store->enter({&one, 1}).get().value().at(0).ticket;
    for (auto* node : {&first_, &second_}) node->server().restart();
    expect_not_renewed(*store, ticket);
    set_all(0);
    expect_not_renewed(*store, ticket);
}

/// The two others have agreed with whoever came to them first.
TEST_F(RedlockClock, ANodeThatIsSetBackStillKnowsThatItsListWasThereFirst) {
    first_.set_ahead(600);
    const Client client = connect(url(""));
    sentence_of([&] { static_cast<void>(client.mutex("orders").try_acquire()); },
                errc::unreachable);
    for (auto* node : {&first_, &second_, &third_}) {
        EXPECT_TRUE(await([&] {
            return node->server().command({"EXISTS", "holdfast/=run"}) == "1";
        }));
    }
    for (auto* node : {&second_, &third_}) forget_clients_of(node->server());
    first_.set_ahead(0);
    FaultProxy second(second_.server().port());
    FaultProxy third(third_.server().port());
    for (FaultProxy* late : {&second, &third}) late->delay_replies(100ms);
    const auto where = RedisNodes::url_at({first_.server().port(), second.port(), third.port()});
    const Client other = connect(where.substr(0, where.find('?')));
    sentence_of([&] { static_cast<void>(other.mutex("orders").try_acquire()); },
                errc::bad_configuration);
}

/// What its client proposes is what they showed before.
TEST_F(RedlockClock, ALockThatNobodyUsedIsHadAtOnceAfterAllWereSetBack) {
    set_all(600);
    const Client client = connect(set_of_new_ones(""));
    client.mutex("orders").acquire().release();
    set_all(0);
    EXPECT_TRUE(client.mutex("bills").try_acquire());
}

/// A machine that takes its clock for local time, until it hears of the right one.
TEST_F(RedlockClock, ANodeThatIsSetBackCountsAfterMaxLeaseAllTheSame) {
    set_all(3600);
    const Client client = connect(url("?max_lease=1s"));
    auto mutex = client.mutex("orders", {.lease = 500ms});
    sentence_of([&] { static_cast<void>(mutex.try_acquire()); }, errc::unreachable);
    set_all(0);
    EXPECT_TRUE(mutex.try_acquire_for(5s));
}

/// The first hold's fence is that of the first node, and the third has a lower one: its answer came
/// when it was decided.
TEST_F(RedlockClock, AHoldsOwnStoreTellsItsFenceWhereSomeNodesHaveALowerOne) {
    first_.set_ahead(10);
    set_of_new_ones("");
    FaultProxy late(third_.server().port());
    const auto where = RedisNodes::url_at(
        {first_.server().port(), second_.server().port(), late.port()}, "?request_timeout=500ms");
    const auto store = open_store(where).store;
    late.delay_replies(100ms);
    const Contender one = somebody();
    const auto entries = store->enter({&one, 1}).get();
    ASSERT_TRUE(entries.ok());
    const auto [ticket, admitted] = entries.value()[0];
    late.pass();
    second_.server().pause();
    EXPECT_EQ(store->standing(ticket).get().value().fence, admitted.fence);
}

}  // namespace
}  // namespace holdfast::test
