#include <future>
#include <optional>
#include <thread>

#include "faults/redis_faults.hpp"
#include "support/contender.hpp"

/// The ways to a server: names, sockets, databases, TLS.
namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

/// One holds, another waits, and gets it when the first lets go.
void expect_hand_over(const RedisServer& server, const std::string& url) {
    const Client ours = connect(url);
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_TRUE(hold.held());
    const Client others = connect(url);
    Acquiring waiting(others, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(ours, "orders") == 1; }));
    const auto released = Clock::now();
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = waiting.get();
    EXPECT_LT(Clock::now() - released, 900ms) << "it is woken, and does not look again";
    EXPECT_GT(next.fence(), hold.fence());
    EXPECT_EQ(next.release(), Released::in_time);
    expect_nobody_left(server);
}

class RedisReach : public RedisFaults {};

/// What trying again cannot mend.
void expect_refused_at_once(const std::string& url, std::string_view words) {
    const auto start = Clock::now();
    const Error error = error_of([&] { return connect(url); });
    EXPECT_LT(Clock::now() - start, 2s);
    EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
    EXPECT_EQ(error.effect(), Effect::none) << error.what();
    expect_says(error, words);
}

TEST_F(RedisReach, ByUnixSocket) {
    expect_hand_over(server_, server_.socket_url());
}

TEST_F(RedisReach, ASocketThatIsNotThereIsTold) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "no-socket";
    const Error error = error_of([&] { return connect("redis+unix://" + path); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    expect_says(error, path);
}

TEST_F(RedisReach, ADatabaseIsSeparateAndStaysChosenOnTheNextConnection) {
    const Client zero = client();
    const Client three = connect(proxy_.url() + "/3");
    auto hold = zero.mutex("orders", {.lease = long_lease}).acquire();
    auto other = three.mutex("orders", {.lease = long_lease}).try_acquire();
    EXPECT_TRUE(other);
    proxy_.cut();
    EXPECT_FALSE(zero.mutex("orders").try_lock());
    EXPECT_FALSE(three.mutex("orders").try_lock());
    EXPECT_EQ(zero.inspect().size(), 1U);
    EXPECT_EQ(zero.inspect()[0].holders[0].fence, hold.fence());
    EXPECT_EQ(three.inspect()[0].holders[0].fence, other->fence());
    EXPECT_EQ(other->release(), Released::in_time);
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(three.inspect().empty());
    expect_nobody_left();
}

TEST_F(RedisReach, ADatabaseThatTheServerDoesNotHaveIsTold) {
    expect_refused_at_once(server_.url() + "/99", "DB index is out of range");
}

TEST_F(RedisReach, APasswordThatTheServerDoesNotKnowOfIsTold) {
    expect_refused_at_once(
        "redis://:secret@127.0.0.1:" + std::to_string(server_.port()) + "?request_timeout=20s",
        "without any password configured");
}

TEST_F(RedisReach, AServerThatHasNoRoomForAConnectionYetIsWaitedFor) {
    const RedisServer server;
    std::optional<Client> first = connect(server.url());
    first->mutex("orders").acquire().release();
    server.command({"CONFIG", "SET", "maxclients", "1"});
    auto connecting = std::async(std::launch::async,
                                 [&] { return connect(server.url() + "?request_timeout=20s"); });
    EXPECT_EQ(connecting.wait_for(300ms), std::future_status::timeout) << "it is patient";
    first.reset();
    EXPECT_NO_THROW(connecting.get().mutex("orders").acquire().release());
}

// --- TLS ---

class RedisTls : public testing::Test {
protected:
    static std::string url(const RedisServer& server, const std::string& host,
                           const std::string& parameters) {
        return "rediss://" + host + ":" + std::to_string(server.tls_port()) + parameters;
    }
    static std::string trusting(const Certificate& authority) {
        return "?tls_ca=" + authority.certificate.string();
    }
    static std::string as(const Certificate& who) {
        return "&tls_cert=" + who.certificate.string() + "&tls_key=" + who.key.string();
    }
    /// At once, or when a request's time is up.
    static void expect_refused(const std::string& url, std::string_view words) {
        const auto start = Clock::now();
        const Error error = error_of([&] { return connect(url); });
        EXPECT_TRUE(error.code() == errc::unreachable || error.code() == errc::bad_configuration)
            << error.what();
        expect_says(error, words);
        EXPECT_LT(Clock::now() - start, 5s);
    }

    const Certificates& known_ = certificates();
};

TEST_F(RedisTls, HandsOverWithAPasswordInEachLayout) {
    const RedisServer server({.password = "secret", .tls = true});
    expect_hand_over(server, server.tls_url());
    const Client plain = connect(server.tls_url() + "&layout=plain");
    auto hold = plain.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_FALSE(plain.mutex("orders").try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(RedisTls, AServerThatDemandsACertificateGetsTheClientsOwn) {
    const RedisServer server({.tls = true, .settings = {"tls-auth-clients yes"}});
    const std::string trusted = url(server, "127.0.0.1", trusting(known_.authority));
    expect_hand_over(server, trusted + as(known_.client));
    // That this is why may be lost with the connection.
    expect_refused(trusted, "certificate");
    expect_refused(trusted + as(known_.stranger), "certificate");
}

TEST_F(RedisTls, FilesThatCannotBeUsedAreNamed) {
    const RedisServer server({.tls = true});
    expect_refused_at_once(url(server, "127.0.0.1", "?tls_ca=/no/such/file"), "/no/such/file");
    const std::string trusted = url(server, "127.0.0.1", trusting(known_.authority));
    expect_refused_at_once(trusted + "&tls_cert=/no/such/file", "/no/such/file");
    // Of another certificate.
    expect_refused_at_once(trusted + "&tls_cert=" + known_.client.certificate.string() +
                               "&tls_key=" + known_.stranger.key.string(),
                           "tls_key");
}

TEST_F(RedisTls, APlainServerAndATlsClientDoNotUnderstandEachOther) {
    const RedisServer server({.tls = true});
    // It may hang up without a word.
    expect_refused("redis://127.0.0.1:" + std::to_string(server.tls_port()) + "?request_timeout=1s",
                   "127.0.0.1");
    // It takes what we say for the beginning of a command, and may wait for the
    // rest.
    expect_refused("rediss://127.0.0.1:" + std::to_string(server.port()) +
                       trusting(known_.authority) + "&connect_timeout=1s&request_timeout=1s",
                   "127.0.0.1");
}

}  // namespace
}  // namespace holdfast::test
