#include "faults/server_faults.hpp"
#include "servers/postgres_server.hpp"

namespace holdfast::test {
namespace {

/// As ShedLock's sessions have it, by the zone of their machine.
class PostgresShedlockZones : public testing::Test {
protected:
    std::string url() const { return server_.url() + "?layout=shedlock"; }
    bool they_lock(const std::string& zone) const {
        return server_.query("SET TimeZone = '" + zone +
                             "'; INSERT INTO shedlock VALUES ('report', "
                             "timezone('utc', CURRENT_TIMESTAMP) + interval '60 s', "
                             "timezone('utc', CURRENT_TIMESTAMP), 'theirs') "
                             "ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, "
                             "locked_by = 'theirs' WHERE shedlock.lock_until <= "
                             "timezone('utc', CURRENT_TIMESTAMP) RETURNING 1") == "1";
    }

    PostgresServer server_;
};

TEST_F(PostgresShedlockZones, TheZoneOfASessionIsNoInstant) {
    const Client client = connect(url());
    for (const std::string zone : {"UTC", "Europe/Berlin", "America/New_York"}) {
        server_.query("ALTER DATABASE postgres SET TimeZone = '" + zone + "'");
        auto hold = connect(url()).mutex("report").acquire();
        EXPECT_FALSE(they_lock("Asia/Tokyo")) << zone;
        EXPECT_FALSE(they_lock("America/New_York")) << zone;
        EXPECT_EQ(hold.release(), Released::in_time);
        EXPECT_TRUE(they_lock("Europe/Berlin")) << zone;
        const auto attempt = connect(url()).mutex("report").try_acquire();
        EXPECT_FALSE(attempt) << zone;
        server_.query("DELETE FROM shedlock");
    }
}

TEST_F(PostgresShedlockZones, AColumnWithAZoneIsRefused) {
    const Client client = connect(url());
    server_.query("ALTER TABLE shedlock ALTER COLUMN lock_until TYPE timestamptz");
    const Error error = error_of([&] { return client.mutex("report").try_acquire(); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_says(error, "without a time zone");
}

}  // namespace
}  // namespace holdfast::test
