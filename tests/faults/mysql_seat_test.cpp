#include <holdfast/holdfast.hpp>
#include <holdfast/upkeep.hpp>

#include "faults/server_faults.hpp"
#include "servers/mariadb_server.hpp"
#include "support/contender.hpp"

/// A lone holder has the seat in its resource's row, and is put among the contenders when somebody
/// must look at all of them.
namespace holdfast::test {
namespace {

class MysqlSeat : public testing::Test {
protected:
    std::string of_line(const std::string& columns) const {
        return server_.query("SELECT " + columns + " FROM locks.holdfast_lines");
    }
    bool seat_is_taken() const { return of_line("seat_nonce <> ''") == "1"; }
    std::string contenders() const {
        return server_.query("SELECT COUNT(*) FROM locks.holdfast_contenders");
    }

    bool others_get_it() const {
        const auto attempt = other_.mutex("orders").try_acquire();
        return static_cast<bool>(attempt);
    }

    MariadbServer server_;
    Client client_ = connect(server_.url());
    Client other_ = connect(server_.url());
};

TEST_F(MysqlSeat, IsHadByALoneHolderFromTheSecondTimeOn) {
    client_.mutex("orders").acquire().release();
    const auto hold = client_.mutex("orders").acquire();
    EXPECT_TRUE(seat_is_taken());
    EXPECT_EQ(contenders(), "0");
    EXPECT_EQ(of_line("seat_fence"), std::to_string(hold.fence()));
    EXPECT_FALSE(others_get_it());
    EXPECT_TRUE(seat_is_taken()) << "one that does not wait has changed something";
}

TEST_F(MysqlSeat, GoesFromHolderToHolder) {
    client_.mutex("orders").acquire().release();
    auto hold = client_.mutex("orders").acquire();
    Acquiring waiting(other_, "orders");
    ASSERT_TRUE(await([&] { return waiters_of(client_, "orders") == 1; }));
    EXPECT_EQ(contenders(), "1");
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_TRUE(seat_is_taken());
    EXPECT_EQ(client_.inspect("orders").at(0).holders.size(), 1U);
    EXPECT_EQ(waiters_of(client_, "orders"), 0U) << "its row of the time when it waited is shown";
    EXPECT_EQ(next.release(), Released::in_time);
    EXPECT_FALSE(seat_is_taken());
    EXPECT_EQ(contenders(), "0");
    EXPECT_EQ(of_line("crowd"), "0");
}

TEST_F(MysqlSeat, IsLeftWhenTheHolderEntersAgain) {
    auto mutex = client_.mutex("orders", {.owner = "build", .reenter = true});
    mutex.acquire().release();
    auto hold = mutex.acquire();
    auto again = mutex.acquire();
    EXPECT_EQ(again.fence(), hold.fence());
    EXPECT_FALSE(others_get_it());
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_FALSE(others_get_it());
    EXPECT_EQ(again.release(), Released::in_time);
    EXPECT_TRUE(others_get_it());
}

TEST_F(MysqlSeat, ThatIsEmptiedByHandIsToldAsALoss) {
    client_.mutex("orders").acquire().release();
    auto hold = client_.mutex("orders", {.lease = 900ms}).acquire();
    ASSERT_TRUE(seat_is_taken());
    server_.query("UPDATE locks.holdfast_lines SET seat_nonce = ''");
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
}

TEST_F(MysqlSeat, IsNotTakenBesideAReaderWhoseLineWasDeletedByHand) {
    auto mutex = client_.shared_mutex("orders");
    const auto reader = mutex.acquire_shared();
    server_.query("DELETE FROM locks.holdfast_lines");
    const auto beside = other_.shared_mutex("orders").try_acquire();
    EXPECT_FALSE(beside);
}

TEST_F(MysqlSeat, IsTakenAgainThoughRowsOfWaitersWereDeletedByHand) {
    auto hold = client_.mutex("orders").acquire();
    {
        std::stop_source cancelled;
        std::jthread waiter([&] {
            try {
                static_cast<void>(other_.mutex("orders").acquire(cancelled.get_token()));
            } catch (const Error&) {
                // Cancelled.
            }
        });
        ASSERT_TRUE(await([&] { return waiters_of(client_, "orders") == 1; }));
        server_.query("DELETE FROM locks.holdfast_contenders WHERE phase = 'waiting'");
        cancelled.request_stop();
    }
    EXPECT_NE(of_line("crowd"), "0");
    EXPECT_EQ(hold.release(), Released::in_time);
    const auto next = client_.mutex("orders").acquire();
    EXPECT_TRUE(seat_is_taken());
    EXPECT_EQ(of_line("crowd"), "0");
}

TEST_F(MysqlSeat, OfOneThatWaitedIsNotMistakenForAnEmptyLineAfterSweeping) {
    client_.mutex("orders").acquire().release();
    auto hold = client_.mutex("orders").acquire();
    Acquiring waiting(other_, "orders");
    ASSERT_TRUE(await([&] { return waiters_of(client_, "orders") == 1; }));
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    ASSERT_TRUE(seat_is_taken());
    server_.query("UPDATE locks.holdfast_contenders SET lease_end = 1");
    EXPECT_EQ(sweep(server_.url()).contenders, 0U);
    Acquiring last(client_, "orders");
    ASSERT_TRUE(await([&] { return waiters_of(other_, "orders") == 1; }));
    EXPECT_EQ(next.release(), Released::in_time);
    auto held = last.get();
    EXPECT_NE(of_line("crowd"), "0");
    EXPECT_FALSE(others_get_it());
    EXPECT_EQ(held.release(), Released::in_time);
    EXPECT_EQ(contenders(), "0");
}

TEST_F(MysqlSeat, OfADeadHolderIsSwept) {
    client_.mutex("orders").acquire().release();
    auto hold = client_.mutex("orders", {.lease = 30s}).acquire();
    ASSERT_TRUE(seat_is_taken());
    server_.query("UPDATE locks.holdfast_lines SET seat_lease_end = 1");
    const Swept swept = sweep(server_.url());
    EXPECT_EQ(swept.contenders, 1U);
    EXPECT_FALSE(seat_is_taken());
    EXPECT_EQ(of_line("crowd"), "0");
}

}  // namespace
}  // namespace holdfast::test
