#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <holdfast/holdfast.hpp>
#include <string>

#include "faults/server_faults.hpp"
#include "servers/certificates.hpp"
#include "support/await.hpp"
#include "support/byte_proxy.hpp"
#include "support/contender.hpp"
#include "support/temporary_folder.hpp"

/// How a store in a database gets on with what real ones do: the same cases for
/// each kind of server. `Site` has the server, and how a few things are said to
/// it:
///     Server server                        takes TLS too
///     std::string url_of(user, password, database = the one that there is)
///     std::string password_variable        of the environment
///     void add_user(name, password)        who may do everything with the
///     locks void demand_tls_of(user) void refuse_writes(int)             of
///     contenders, as if transactions had met std::string refused() how many
///     were void deadlock_with("orders")         holds the contender's row,
///     then wants the line's bool deadlock_is_prepared()          it has the
///     first of the two void become_read_only()
namespace holdfast::test {

template <class Site>
class SqlOperation : public testing::Test {
protected:
    static constexpr auto secret = "s3cret-of-app";

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
        return site_.url_of("app", password);
    }
    /// tls_url() of the root user says whom to trust.
    std::string trusting(const std::filesystem::path& authority) const {
        return with_app(secret) + "?tls_ca=" + authority.string();
    }

    Site site_;
};
TYPED_TEST_SUITE_P(SqlOperation);

TYPED_TEST_P(SqlOperation, TransactionsThatMeetAreRepeated) {
    const Client client = connect(this->site_.server.url());
    client.mutex("orders").acquire().release();
    this->site_.refuse_writes(3);
    auto hold = client.mutex("orders").acquire();
    EXPECT_EQ(this->site_.refused(), "3");
    EXPECT_EQ(client.inspect().size(), 1U);
    EXPECT_EQ(hold.release(), Released::in_time);
}

/// A share, which is a row of its own on every server.
TYPED_TEST_P(SqlOperation, ADeadlockWithAnothersTransactionIsRepeated) {
    const Client client = connect(this->site_.server.url() + "?request_timeout=20s");
    auto hold = client.shared_mutex("orders", {.lease = 60s}).acquire_shared();
    const auto other = std::async(std::launch::async, [&] { this->site_.deadlock_with(); });
    ASSERT_TRUE(await([&] { return this->site_.deadlock_is_prepared(); }));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(client.inspect().empty());
}

TYPED_TEST_P(SqlOperation, AServerThatBecomesReadOnlyIsNamedAsSuch) {
    this->site_.add_user("app", this->secret);
    const Client client = connect(this->with_app(this->secret));
    client.mutex("orders").acquire().release();
    this->site_.become_read_only();
    const Error error = error_of([&] { return client.mutex("orders").try_acquire(); });
    EXPECT_EQ(error.code(), errc::unreachable);
    expect_says(error, "read-only");
}

TYPED_TEST_P(SqlOperation, HandsOverByTls) {
    this->site_.add_user("app", this->secret);
    connect(this->with_app(this->secret)).mutex("orders").acquire().release();
    this->site_.demand_tls_of("app");
    const Error error = error_of([&] { return connect(this->with_app(this->secret)); });
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    this->expect_hand_over(this->trusting(certificates().authority.certificate));
}

TYPED_TEST_P(SqlOperation, AHandshakeThatIsResetIsMadeAgain) {
    ByteProxy proxy(this->site_.server.port());
    proxy.reset_handshakes(2);
    const std::string authority = certificates().authority.certificate;
    const Client client = connect(this->site_.server.url_through(proxy.port()) +
                                  "?request_timeout=20s&tls_ca=" + authority);
    EXPECT_EQ(proxy.handshakes_to_reset(), 0);
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
}

TYPED_TEST_P(SqlOperation, WhatIsWrongWithTheConfigurationIsToldAtOnce) {
    this->site_.add_user("app", this->secret);
    const std::string untrusted = certificates().other_authority.certificate;
    const std::string patient = "request_timeout=60s&connect_timeout=20s";
    for (const std::string& url :
         {this->with_app("wrong") + "?" + patient,
          this->site_.url_of("nobody", "x") + "?" + patient,
          this->site_.url_of("app", this->secret, "nowhere") + "?" + patient,
          this->trusting(untrusted) + "&" + patient,
          this->trusting("/nowhere/authority.crt") + "&" + patient}) {
        const auto started = std::chrono::steady_clock::now();
        const Error error = error_of([&] { return connect(url); });
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        EXPECT_LT(std::chrono::steady_clock::now() - started, 15s) << error.what();
    }
}

TYPED_TEST_P(SqlOperation, APasswordComesByUrlFileOrEnvironment) {
    this->site_.add_user("app", this->secret);
    const TemporaryFolder folder;
    const std::string file = folder.path() / "password";
    std::ofstream(file) << this->secret << "\n";
    this->expect_hand_over(this->with_app(this->secret));
    this->expect_hand_over(this->with_app("") + "?password_file=" + file);
    setenv(this->site_.password_variable, this->secret, 1);
    this->expect_hand_over(this->with_app(""));
    unsetenv(this->site_.password_variable);
}

TYPED_TEST_P(SqlOperation, AWrongPasswordIsRefusedAndNotShown) {
    this->site_.add_user("app", this->secret);
    for (const std::string wrong : {"", "wr0ng-one"}) {
        const Error error = error_of([&] { return connect(this->with_app(wrong)); });
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        const bool shown = std::string(error.what()).find(wrong) != std::string::npos;
        EXPECT_TRUE(wrong.empty() || !shown) << error.what();
    }
}

REGISTER_TYPED_TEST_SUITE_P(SqlOperation, TransactionsThatMeetAreRepeated,
                            ADeadlockWithAnothersTransactionIsRepeated,
                            AServerThatBecomesReadOnlyIsNamedAsSuch, HandsOverByTls,
                            AHandshakeThatIsResetIsMadeAgain,
                            WhatIsWrongWithTheConfigurationIsToldAtOnce,
                            APasswordComesByUrlFileOrEnvironment,
                            AWrongPasswordIsRefusedAndNotShown);

}  // namespace holdfast::test
