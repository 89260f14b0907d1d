#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "faults/databases.hpp"
#include "stores/open_store.hpp"

/// What is renewed together, or on the same few connections, where somebody has locked some of the
/// rows: it costs the others nothing.
namespace holdfast::test {
namespace {

class SqlRenewals : public OnDatabase {
protected:
    /// It lasts as long as the test, at the least.
    template <class Function>
    void meanwhile(Function function) {
        others_.push_back(std::async(std::launch::async, std::move(function)));
    }
    void hold_rows_of(const std::vector<std::string>& names, double seconds) {
        for (const std::string& name : names) {
            meanwhile([this, name, seconds] { database_->hold_row_of(name, seconds); });
        }
        ASSERT_TRUE(await([&] { return database_->are_held(static_cast<int>(names.size())); }));
    }
    /// A share: a row of its own on every server.
    static Hold share(const Client& client, const std::string& name) {
        return client.shared_mutex(name, {.lease = 3s}).acquire_shared();
    }
    static void expect_renewed(const std::vector<Hold*>& holds) {
        const auto any_lost = [&] {
            return std::ranges::any_of(holds, [](auto* hold) { return !hold->held(); });
        };
        EXPECT_FALSE(await(any_lost, 2s));
    }

private:
    std::vector<std::future<void>> others_;
};
HOLDFAST_ON_DATABASES(SqlRenewals);

TEST_P(SqlRenewals, AContenderWhoseRowSomebodyHasLockedCostsNoOtherHold) {
    const Client client = connect(url());
    auto first = share(client, "a");
    auto locked = share(client, "b");
    auto last = share(client, "c");
    meanwhile([&] { database_->hold_contenders_of("b", 5); });
    ASSERT_TRUE(await([&] { return locked.lost().stop_requested(); }));
    expect_renewed({&first, &last});
}

TEST_P(SqlRenewals, ARowThatCannotBeWrittenCostsNoOtherHold) {
    const Client client = connect(url());
    auto first = share(client, "a");
    auto refused = share(client, "b");
    auto last = share(client, "c");
    database_->refuse_renewals_of("b");
    ASSERT_TRUE(await([&] { return refused.lost().stop_requested(); }));
    expect_renewed({&first, &last});
}

/// Each of the waits would last less than a second, and is not for nothing; all of them together
/// are longer than a request has.
TEST_P(SqlRenewals, RowsThatAreFreeOneAfterTheOtherAreNotAllWaitedFor) {
    const auto store = open_store(url() + "?request_timeout=2500ms").store;
    std::vector<Ticket> tickets;
    for (const std::string name : {"a", "b", "c", "d"}) {
        Contender one;
        one.resource = "holdfast/" + name;
        one.owner = "somebody";
        one.lease = 30s;
        one.nonce.bytes.fill(static_cast<std::byte>(tickets.size() + 1));
        const auto entries = store->enter({&one, 1}).get();
        ASSERT_TRUE(entries.ok()) << entries.failure().sentence;
        tickets.push_back(entries.value().front().ticket);
    }
    meanwhile([&] { database_->hold_row_of("b", 0.9); });
    meanwhile([&] { database_->hold_row_of("c", 1.8); });
    meanwhile([&] { database_->hold_row_of("d", 2.7); });
    ASSERT_TRUE(await([&] { return database_->are_held(3); }));
    const auto standings = store->renew(tickets, 30s).get();
    ASSERT_TRUE(standings.ok()) << standings.failure().sentence;
    EXPECT_EQ(standings.value().front().state, Standing::State::admitted);
}

/// More of them than a client has connections.
TEST_P(SqlRenewals, RowsThatSomebodyHasLockedCostNoHoldThatIsRenewedBesideThem) {
    const Client client = connect(url());
    std::vector<Hold> holds;
    for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
        holds.push_back(share(client, name));
    }
    hold_rows_of({"b", "c", "d", "e"}, 5);
    ASSERT_TRUE(await([&] { return holds[1].lost().stop_requested(); }));
    expect_renewed({&holds[0], &holds[5]});
}

}  // namespace
}  // namespace holdfast::test
