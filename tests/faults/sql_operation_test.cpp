#include <cstdlib>
#include <fstream>
#include <holdfast/holdfast.hpp>

#include "faults/databases.hpp"
#include "servers/certificates.hpp"
#include "support/byte_proxy.hpp"
#include "support/contender.hpp"
#include "support/temporary_folder.hpp"

/// How a store in a database gets on with what real ones do.
namespace holdfast::test {
namespace {

class SqlOperation : public OnDatabase {
protected:
    static constexpr auto secret = "s3cret-of-app";

    SqlOperation() : OnDatabase({.tls = true}) {}

    /// One holds, another waits, and gets it when the first lets go.
    static void expect_hand_over(const std::string& url) {
        const Client ours = connect(url);
        auto hold = ours.mutex("orders", {.lease = 30s}).acquire();
        const Client others = connect(url);
        Acquiring waiting(others, "orders", {.lease = 30s});
        ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
        EXPECT_EQ(hold.release(), Released::in_time);
        auto next = waiting.get();
        EXPECT_GT(next.fence(), hold.fence());
        EXPECT_EQ(next.release(), Released::in_time);
    }

    std::string with_app(const std::string& password) const {
        return database_->url_of("app", password);
    }
    /// tls_url() of the root user says whom to trust.
    std::string trusting(const std::filesystem::path& authority) const {
        return with_app(secret) + "?tls_ca=" + authority.string();
    }
};
HOLDFAST_ON_DATABASES(SqlOperation);

TEST_P(SqlOperation, TransactionsThatMeetAreRepeated) {
    const Client client = connect(url());
    client.mutex("orders").acquire().release();
    database_->refuse_writes(3);
    auto hold = client.mutex("orders").acquire();
    EXPECT_EQ(database_->refused(), "3");
    EXPECT_EQ(client.inspect().size(), 1U);
    EXPECT_EQ(hold.release(), Released::in_time);
}

/// A share, which is a row of its own on every server.
TEST_P(SqlOperation, ADeadlockWithAnothersTransactionIsRepeated) {
    const Client client = connect(url() + "?request_timeout=20s");
    auto hold = client.shared_mutex("orders", {.lease = 60s}).acquire_shared();
    const auto other = std::async(std::launch::async, [&] { database_->deadlock(); });
    ASSERT_TRUE(await([&] { return database_->deadlock_is_prepared(); }));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(client.inspect().empty());
}

TEST_P(SqlOperation, ARowThatSomebodyHasLockedIsNamedAsTheReason) {
    const Client client = connect(url() + "?request_timeout=1500ms");
    client.mutex("orders").acquire().release();
    const auto other = std::async(std::launch::async, [&] { database_->hold_row_of("orders", 3); });
    ASSERT_TRUE(await([&] { return database_->row_is_held(); }));
    const Error error = error_of([&] { return client.mutex("orders").try_acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable);
    EXPECT_EQ(error.effect(), Effect::none);
    expect_says(error, "locked by somebody else");
}

TEST_P(SqlOperation, ARowThatSomebodyHasLockedCostsNoOtherHoldThatIsRenewedWithIt) {
    const Client client = connect(url());
    auto first = client.mutex("a", {.lease = 3s}).acquire();
    auto locked = client.mutex("b", {.lease = 3s}).acquire();
    auto last = client.mutex("c", {.lease = 3s}).acquire();
    const auto other = std::async(std::launch::async, [&] { database_->hold_row_of("b", 5); });
    ASSERT_TRUE(await([&] { return locked.lost().stop_requested(); }));
    EXPECT_FALSE(
        await([&] { return first.lost().stop_requested() || last.lost().stop_requested(); }, 2s));
    EXPECT_TRUE(first.held());
    EXPECT_TRUE(last.held());
}

TEST_P(SqlOperation, AServerThatBecomesReadOnlyIsNamedAsSuch) {
    database_->add_user("app", secret);
    const Client client = connect(with_app(secret));
    client.mutex("orders").acquire().release();
    database_->become_read_only();
    const Error error = error_of([&] { return client.mutex("orders").try_acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable);
    expect_says(error, "read-only");
}

TEST_P(SqlOperation, HandsOverByTls) {
    database_->add_user("app", secret);
    connect(with_app(secret)).mutex("orders").acquire().release();
    database_->demand_tls_of("app");
    const Error error = error_of([&] { return connect(with_app(secret)); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    expect_hand_over(trusting(certificates().authority.certificate));
}

TEST_P(SqlOperation, AHandshakeThatIsResetIsMadeAgain) {
    ByteProxy proxy(database_->server().port());
    proxy.reset_handshakes(2);
    const std::string authority = certificates().authority.certificate;
    const Client client = connect(database_->server().url_through(proxy.port()) +
                                  "?request_timeout=20s&tls_ca=" + authority);
    EXPECT_EQ(proxy.handshakes_to_reset(), 0);
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
}

TEST_P(SqlOperation, WhatIsWrongWithTheConfigurationIsToldAtOnce) {
    database_->add_user("app", secret);
    const std::string untrusted = certificates().other_authority.certificate;
    const std::string patient = "request_timeout=60s&connect_timeout=20s";
    for (const std::string& url :
         {with_app("wrong") + "?" + patient, database_->url_of("nobody", "x") + "?" + patient,
          database_->url_of("app", secret, "nowhere") + "?" + patient,
          trusting(untrusted) + "&" + patient,
          trusting("/nowhere/authority.crt") + "&" + patient}) {
        const auto started = Clock::now();
        const Error error = error_of([&] { return connect(url); });
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        EXPECT_LT(Clock::now() - started, 15s) << error.what();
    }
}

TEST_P(SqlOperation, APasswordComesByUrlFileOrEnvironment) {
    database_->add_user("app", secret);
    const TemporaryFolder folder;
    const std::string file = folder.path() / "password";
    std::ofstream(file) << secret << "\n";
    expect_hand_over(with_app(secret));
    expect_hand_over(with_app("") + "?password_file=" + file);
    setenv(database_->password_variable(), secret, 1);
    expect_hand_over(with_app(""));
    unsetenv(database_->password_variable());
}

TEST_P(SqlOperation, AWrongPasswordIsRefusedAndNotShown) {
    database_->add_user("app", secret);
    for (const std::string wrong : {"", "wr0ng-one"}) {
        const Error error = error_of([&] { return connect(with_app(wrong)); });
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        const bool shown = std::string(error.what()).find(wrong) != std::string::npos;
        EXPECT_TRUE(wrong.empty() || !shown) << error.what();
    }
}

}  // namespace
}  // namespace holdfast::test
