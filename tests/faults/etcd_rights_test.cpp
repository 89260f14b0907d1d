#include <fstream>

#include "faults/server_faults.hpp"
#include "servers/certificates.hpp"
#include "servers/etcd_server.hpp"
#include "servers/redis_server.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"
#include "support/temporary_folder.hpp"

/// Who may use a lock, and over what it is reached.
namespace holdfast::test {
namespace {

/// A server where alice may use what begins with "holdfast/", and nobody may do
/// anything without a password. Its tokens are over after a second without use.
class EtcdRights : public testing::Test {
protected:
    explicit EtcdRights(std::string tokens = "--auth-token-ttl=1")
        : server_({.flags = {std::move(tokens)}}) {
        ctl({"user", "add", "root:" + master});
        ctl({"user", "grant-role", "root", "root"});
        ctl({"role", "add", "locks"});
        ctl({"role", "grant-permission", "--prefix=true", "locks", "readwrite", "holdfast/"});
        ctl({"user", "add", "alice:secret"});
        ctl({"user", "grant-role", "alice", "locks"});
        ctl({"auth", "enable"});
    }
    std::string ctl(std::vector<std::string> words) const {
        if (authority_) words.insert(words.begin(), "--user=root:" + master);
        if (words.front() == "auth") authority_ = words.back() == "enable";
        return server_.ctl(words);
    }
    std::string url(const std::string& user, const std::string& parameters = "") const {
        return "etcd://" + user + (user.empty() ? "" : "@") + server_.address() + parameters;
    }
    static LockOptions brief() { return {.lease = 2s}; }

    static inline const std::string master = "master";
    EtcdServer server_;
    mutable bool authority_ = false;
};

void expect_refused(const std::string& url, std::string_view words) {
    const auto refused = error_of([&] { return connect(url).mutex("orders").try_acquire(); });
    EXPECT_EQ(refused.code(), errc::bad_configuration) << refused.what();
    expect_says(refused, words);
    EXPECT_EQ(std::string_view(refused.what()).find("secret"), std::string_view::npos)
        << refused.what();
}

TEST_F(EtcdRights, AUserWithThePasswordMayAndOthersMayNot) {
    const auto alice = connect(url("alice:secret"));
    const Hold hold = alice.mutex("orders", brief()).acquire();
    EXPECT_TRUE(hold.held());
    const auto start = Clock::now();
    expect_refused(url("alice:not-the-secret"), "password");
    expect_refused(url("bob:secret"), "password");
    expect_refused(url(""), "user");
    expect_refused(url("alice:secret", "?prefix=others/"), "may not");
    EXPECT_LT(Clock::now() - start, 10s) << "not after request_timeout";
}

TEST_F(EtcdRights, ThePasswordIsNowhereToBeSeen) {
    const auto alice = connect(url("alice:secret"));
    EXPECT_EQ(alice.store().find("secret"), std::string::npos) << alice.store();
    const Hold hold = alice.mutex("shown", brief()).acquire();
    const auto line = alice.look_at("shown");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->holders.at(0).owner.find("secret"), std::string::npos);
    EXPECT_EQ(ctl({"get", "holdfast/", "--prefix"}).find("secret"), std::string::npos);
}

TEST_F(EtcdRights, ATokenThatIsOverIsRenewed) {
    const auto alice = connect(url("alice:secret"));
    auto mutex = alice.mutex("orders", brief());
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(mutex.acquire().release(), Released::in_time);
        const auto since = Clock::now();
        ASSERT_TRUE(await([&] { return Clock::now() - since > 3500ms; }));
    }
    auto hold = mutex.acquire();
    EXPECT_FALSE(await([&] { return !hold.held(); }, 4s)) << "it is renewed";
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(EtcdRights, AHoldAndAWaiterOutliveTheTokensOfARestartedServer) {
    const auto alice = connect(url("alice:secret"));
    const LockOptions patient{.lease = 10s};
    auto hold = alice.mutex("orders", patient).acquire();
    Acquiring next(connect(url("alice:secret")), "orders", patient);
    ASSERT_TRUE(await([&] { return alice.look_at("orders")->waiters.size() == 1; }));
    server_.restart();
    EXPECT_FALSE(await([&] { return !hold.held(); }, 11s)) << "it is renewed";
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(next.get().held());
}

TEST_F(EtcdRights, AWaiterIsToldByARestartedServer) {
    const auto other = connect(url("alice:secret"));
    auto first = other.mutex("orders", {.lease = 30s}).acquire();
    Acquiring second(connect(url("alice:secret")), "orders", {.lease = 30s});
    ASSERT_TRUE(await([&] { return other.look_at("orders")->waiters.size() == 1; }));
    // It watches.
    EXPECT_FALSE(second.is_over(200ms));
    server_.restart();
    EXPECT_NE(first.release(), Released::too_late);
    EXPECT_TRUE(second.is_over(5s)) << "before it looks with its renewal";
    EXPECT_TRUE(second.get().held());
}

/// Tokens that say themselves when they are over, used or not.
class EtcdSignedTokens : public EtcdRights {
protected:
    EtcdSignedTokens()
        : EtcdRights("--auth-token=jwt,sign-method=HS256,ttl=2s,priv-key=" +
                     certificates().server.key.string()) {}
};

TEST_F(EtcdSignedTokens, AWaiterIsToldAlsoWhenTheFirstTokenIsOver) {
    const auto alice = connect(url("alice:secret"));
    const auto other = connect(url("alice:secret"));
    for (int round = 0; round < 3; ++round) {
        auto first = other.mutex("orders", {.lease = 30s}).acquire();
        Acquiring second(alice, "orders", {.lease = 30s});
        ASSERT_TRUE(await([&] { return other.look_at("orders")->waiters.size() == 1; }));
        first.release();
        EXPECT_TRUE(second.is_over(5s)) << round << ": before it looks with its renewal";
        EXPECT_EQ(second.get().release(), Released::in_time);
        const auto since = Clock::now();
        ASSERT_TRUE(await([&] { return Clock::now() - since > 2500ms; }));
    }
}

TEST_F(EtcdRights, AHoldOutlivesAChangeOfTheRights) {
    const auto alice = connect(url("alice:secret"));
    auto hold = alice.mutex("orders", brief()).acquire();
    ctl({"auth", "disable"});
    EXPECT_FALSE(await([&] { return !hold.held(); }, 2500ms)) << "it is renewed";
    ctl({"auth", "enable"});
    EXPECT_FALSE(await([&] { return !hold.held(); }, 2500ms))
        << "it is renewed; lost " << (hold.loss() == Loss::ended ? "by the server" : "by time");
    ctl({"role", "add", "another"});
    EXPECT_FALSE(await([&] { return !hold.held(); }, 2500ms)) << "it is renewed";
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(alice.mutex("orders", brief()).acquire().release(), Released::in_time);
}

TEST_F(EtcdRights, APasswordThatWasChangedIsToldAndTriedSeldom) {
    FaultProxy way(server_.port(), http2_protocol);
    const TemporaryFolder folder;
    const auto file = folder.path() / "password";
    std::ofstream(file) << "secret\n";
    const std::string url =
        "etcd://alice@127.0.0.1:" + std::to_string(way.port()) + "?password_file=" + file.string();
    const auto alice = connect(url);
    auto hold = alice.mutex("orders", brief()).acquire();
    ctl({"user", "delete", "alice"});
    ctl({"user", "add", "alice:changed"});
    ctl({"user", "grant-role", "alice", "locks"});
    std::ofstream(file) << "changed\n";
    ASSERT_TRUE(await([&] { return !hold.held(); })) << "nobody renews it for a stranger";
    const auto before = way.requests();
    EXPECT_FALSE(await([&] { return way.requests() - before > 300; }, 2s));
    const auto refused = error_of([&] { return alice.mutex("orders", brief()).acquire(); });
    EXPECT_EQ(refused.code(), errc::bad_configuration) << refused.what();
    expect_says(refused, "password");
    // The file is read when a client is made.
    EXPECT_TRUE(connect(url).mutex("orders", brief()).acquire().held());
}

TEST(EtcdTls, EndsAtOnceWhereNobodySpeaksHttp2) {
    const RedisServer other;
    const auto start = Clock::now();
    const auto refused = error_of([&] {
        return connect("etcd://127.0.0.1:" + std::to_string(other.port()) + "?request_timeout=60s");
    });
    EXPECT_EQ(refused.code(), errc::unreachable);
    expect_says(refused, "host and port");
    EXPECT_LT(Clock::now() - start, 20s) << "trying again mends nothing";
}

TEST(EtcdTls, ShowsItsOwnCertificate) {
    const EtcdServer server({.tls = true, .client_certificates = true});
    const auto with = [&](const Certificate& own) {
        return server.tls_url() + "&tls_cert=" + own.certificate.string() +
               "&tls_key=" + own.key.string() + "&connect_timeout=2s&request_timeout=2s";
    };
    const auto client = connect(with(certificates().client));
    EXPECT_EQ(client.mutex("orders").acquire().release(), Released::in_time);
    for (const std::string& refused :
         {with(certificates().stranger), server.tls_url() + "&request_timeout=2s"}) {
        EXPECT_EQ(error_of([&] { return connect(refused).mutex("orders").try_acquire(); }).code(),
                  errc::unreachable);
    }
}

}  // namespace
}  // namespace holdfast::test
