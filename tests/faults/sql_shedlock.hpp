#pragma once

#include <gtest/gtest.h>

#include <holdfast/holdfast.hpp>
#include <string>

#include "faults/server_faults.hpp"
#include "support/await.hpp"
#include "support/contender.hpp"

/// Locks that are shared with ShedLock, whose statements are given here as its JDBC provider sends
/// them with the database's time. `Site` has the server and how a few things are said in its
/// language:
///     Server server
///     std::string table               with its schema
///     std::string now, after(seconds) moments, in UTC
///     void keep_whole_seconds(), keep_milliseconds()  in the columns of the table
///     std::string rows_that_end_before_our_leases()  the statement that counts them
///     std::string rows_that_end_after_our_leases()   a millisecond and more
namespace holdfast::test {

template <class Site>
class SqlShedlock : public testing::Test {
protected:
    /// Makes the table.
    SqlShedlock() : client_(connect(url())) {}

    std::string url() const { return site_.server.url() + "?layout=shedlock&request_timeout=30s"; }
    Mutex mutex(std::chrono::milliseconds lease = 30s) const {
        return client_.mutex("report", {.lease = lease});
    }
    /// Whether ShedLock gets it: by a new row, or by an old one that is over.
    bool they_lock(const std::string& who, int seconds) const {
        const std::string until = site_.after(seconds);
        try {
            site_.server.query("INSERT INTO " + site_.table +
                               " (name, lock_until, locked_at, locked_by) VALUES ('report', " +
                               until + ", " + site_.now + ", '" + who + "')");
            return true;
        } catch (const std::runtime_error&) {
            site_.server.query("UPDATE " + site_.table + " SET lock_until = " + until +
                               ", locked_at = " + site_.now + ", locked_by = '" + who +
                               "' WHERE name = 'report' AND lock_until <= " + site_.now);
            return locked_by() == who;
        }
    }
    void they_unlock(const std::string& who) const {
        site_.server.query("UPDATE " + site_.table + " SET lock_until = " + site_.now +
                           " WHERE name = 'report' AND locked_by = '" + who + "'");
    }
    std::string locked_by() const {
        return site_.server.query("SELECT locked_by FROM " + site_.table +
                                  " WHERE name = 'report' AND lock_until > " + site_.now);
    }

    Site site_;
    Client client_;
};
TYPED_TEST_SUITE_P(SqlShedlock);

TYPED_TEST_P(SqlShedlock, WhatWeHoldTheyDoNotGetUntilItIsReleased) {
    auto hold = this->mutex().acquire();
    EXPECT_GT(hold.fence(), 0U);
    EXPECT_TRUE(this->locked_by().starts_with("holdfast:"));
    EXPECT_FALSE(this->they_lock("theirs", 60));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(this->locked_by(), "");
    EXPECT_TRUE(this->they_lock("theirs", 60));
}

TYPED_TEST_P(SqlShedlock, WhatTheyHoldWeDoNotGetUntilItIsUnlocked) {
    ASSERT_TRUE(this->they_lock("theirs", 60));
    const auto attempt = this->mutex().try_acquire();
    EXPECT_FALSE(attempt);
    Acquiring waiting(this->client_, "report", {.lease = 30s});
    ASSERT_TRUE(await([&] { return waiters_of(this->client_, "report") == 1; }));
    EXPECT_EQ(this->locked_by(), "theirs");
    this->they_unlock("theirs");
    auto hold = waiting.get();
    EXPECT_TRUE(this->locked_by().starts_with("holdfast:"));
    EXPECT_EQ(hold.release(), Released::in_time);
}

TYPED_TEST_P(SqlShedlock, WhatTheyLeftToEndWeGetThen) {
    ASSERT_TRUE(this->they_lock("theirs", 1));
    auto hold = this->mutex().acquire();
    EXPECT_EQ(this->locked_by().find("theirs"), std::string::npos);
    EXPECT_EQ(hold.release(), Released::in_time);
}

TYPED_TEST_P(SqlShedlock, AHoldIsKeptBeyondItsLeaseAndFencesRise) {
    auto first = this->mutex(900ms).acquire();
    const std::string mark = this->locked_by();
    EXPECT_FALSE(await([&] { return this->locked_by() != mark; }, 2s)) << "it is renewed";
    EXPECT_TRUE(first.held());
    EXPECT_EQ(first.release(), Released::in_time);
    EXPECT_GT(this->mutex().acquire().fence(), first.fence());
}

TYPED_TEST_P(SqlShedlock, AHoldThatTheyTookOverIsTold) {
    auto hold = this->mutex(900ms).acquire();
    this->site_.server.query("UPDATE " + this->site_.table + " SET locked_by = 'theirs'");
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(hold.loss(), Loss::ended);
    EXPECT_EQ(hold.release(), Released::too_late);
    EXPECT_EQ(this->locked_by(), "theirs");
}

TYPED_TEST_P(SqlShedlock, OursHandOverAndAreListedBesideTheirs) {
    auto hold = this->mutex().acquire();
    Acquiring waiting(connect(this->url()), "report", {.lease = 30s});
    ASSERT_TRUE(await([&] { return waiters_of(this->client_, "report") == 1; }));
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_EQ(next.release(), Released::in_time);

    ASSERT_TRUE(this->they_lock("theirs", 60));
    const auto found = this->client_.look_at("report");
    ASSERT_TRUE(found && found->holders.size() == 1);
    EXPECT_EQ(found->holders[0].owner, "theirs");
    EXPECT_TRUE(found->holders[0].foreign);
    EXPECT_TRUE(this->client_.break_hold("report", 0));
    EXPECT_EQ(this->locked_by(), "");
}

TYPED_TEST_P(SqlShedlock, WhatWeHoldTheyDoNotGetEarlierWhereColumnsHaveWholeSeconds) {
    this->site_.keep_whole_seconds();
    for (int round = 0; round < 10; ++round) {
        auto hold = this->mutex().acquire();
        EXPECT_EQ(this->site_.server.query(this->site_.rows_that_end_before_our_leases()), "0");
        EXPECT_EQ(hold.release(), Released::in_time);
        EXPECT_EQ(this->locked_by(), "") << "it is free at once";
    }
}

TYPED_TEST_P(SqlShedlock, WhatWeHoldTheyGetAMillisecondLaterAtTheMostWhereColumnsHaveThose) {
    this->site_.keep_milliseconds();
    for (int round = 0; round < 10; ++round) {
        auto hold = this->mutex().acquire();
        EXPECT_EQ(this->site_.server.query(this->site_.rows_that_end_before_our_leases()), "0");
        EXPECT_EQ(this->site_.server.query(this->site_.rows_that_end_after_our_leases()), "0");
        EXPECT_EQ(hold.release(), Released::in_time);
    }
}

TYPED_TEST_P(SqlShedlock, SharesAndLongNamesAreRefused) {
    EXPECT_EQ(error_of([&] { return this->client_.semaphore("report", 3); }).code(),
              errc::not_supported);
    const Error error =
        error_of([&] { return this->client_.mutex(std::string(65, 'x')).try_acquire(); });
    EXPECT_EQ(error.code(), errc::invalid_argument);
}

REGISTER_TYPED_TEST_SUITE_P(SqlShedlock, WhatWeHoldTheyDoNotGetUntilItIsReleased,
                            WhatTheyHoldWeDoNotGetUntilItIsUnlocked, WhatTheyLeftToEndWeGetThen,
                            AHoldIsKeptBeyondItsLeaseAndFencesRise, AHoldThatTheyTookOverIsTold,
                            OursHandOverAndAreListedBesideTheirs,
                            WhatWeHoldTheyDoNotGetEarlierWhereColumnsHaveWholeSeconds,
                            WhatWeHoldTheyGetAMillisecondLaterAtTheMostWhereColumnsHaveThose,
                            SharesAndLongNamesAreRefused);

}  // namespace holdfast::test
