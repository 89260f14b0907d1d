#include "faults/host_names.hpp"
#include "faults/memcached_faults.hpp"
#include "faults/server_faults.hpp"

/// Who is let in by memcached, and what is said of servers that cannot be used.
namespace holdfast::test {
namespace {

Error refusal_of(const std::string& url) {
    try {
        connect(url);
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << url << ": it connected";
    return Error(errc::lost, "nothing");
}

void expect_refused(const std::string& url, errc code, const std::string& part) {
    const Error error = refusal_of(url);
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("s3cret-token"), std::string::npos) << error.what();
}

bool can_lock(const std::string& url) {
    return connect(url).mutex("orders").try_lock();
}

// --- passwords ---

class MemcachedUsers : public testing::Test {
protected:
    std::string url(const std::string& who) const {
        return "memcached://" + who + server_.address() + "?request_timeout=2s";
    }

    MemcachedServer server_{{.users = "app:s3cret-token\nother:else\n"}};
};

TEST_F(MemcachedUsers, AreLetInWithTheirPassword) {
    EXPECT_TRUE(can_lock(url("app:s3cret-token@")));
    EXPECT_TRUE(can_lock(url("other:else@")));
}

TEST_F(MemcachedUsers, AreToldThatItIsWrongOrMissing) {
    expect_refused(url("app:s3cret-token2@"), errc::bad_configuration, "user and password");
    expect_refused(url("nobody:s3cret-token@"), errc::bad_configuration, "user and password");
    expect_refused(url(""), errc::bad_configuration, "wants a password");
    expect_refused(url("app@"), errc::bad_configuration, "give both");
    expect_refused(url("app:s3cret%20token@"), errc::bad_configuration, "space");
}

TEST(MemcachedWithoutUsers, RefusesAPasswordInsteadOfStoringIt) {
    const MemcachedServer server;
    expect_refused("memcached://app:s3cret-token@" + server.address(), errc::bad_configuration,
                   "-Y");
    EXPECT_EQ(server.stat("total_items"), 0U) << "it was stored";
}

// --- TLS ---

class SecureMemcached : public testing::Test {
protected:
    MemcachedServer server_{{.tls = true}};
};

TEST_F(SecureMemcached, IsUsedByTls) {
    EXPECT_TRUE(can_lock(server_.tls_url()));
    auto hold = connect(server_.tls_url()).mutex("orders", {.lease = 2s}).acquire();
    EXPECT_FALSE(can_lock(server_.url()));
    EXPECT_FALSE(await([&] { return !hold.held(); }, 3s));
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(SecureMemcached, MustProveItsName) {
    const std::string at = "memcacheds://127.0.0.1:" + std::to_string(server_.tls_port());
    expect_refused(at + "?tls_ca=" + certificates().other_authority.certificate.string(),
                   errc::bad_configuration, "certificate");
    expect_refused(at + "?connect_timeout=1s&request_timeout=1s&tls_ca=/nowhere",
                   errc::bad_configuration, "/nowhere");
}

TEST_F(SecureMemcached, IsNotReachedWithoutTls) {
    expect_refused("memcached://127.0.0.1:" + std::to_string(server_.tls_port()) +
                       "?connect_timeout=1s&request_timeout=1s",
                   errc::unreachable, "");
    // It may take what it is sent for the beginning of a line, and wait for the rest.
    const Error plain =
        refusal_of("memcacheds://" + server_.address() + "?connect_timeout=1s&request_timeout=1s");
    EXPECT_NE(plain.code(), errc::lost) << plain.what();
}

TEST(MemcachedOfKnownClients, TakesThoseWithACertificate) {
    const MemcachedServer server{{.tls = true, .client_certificates = true}};
    const Certificate& ours = certificates().client;
    EXPECT_TRUE(can_lock(server.tls_url() + "&tls_cert=" + ours.certificate.string() +
                         "&tls_key=" + ours.key.string()));
    expect_refused(server.tls_url() + "&connect_timeout=1s&request_timeout=1s",
                   errc::bad_configuration, "certificate required");
}

// --- servers that cannot be used ---

TEST(MemcachedOfOtherKinds, WithoutVersionsOfItemsIsRefused) {
    const MemcachedServer server{{.flags = {"-C"}}};
    const Client client = connect(server.url());
    try {
        static_cast<void>(client.mutex("orders").try_acquire());
        ADD_FAILURE() << "it was acquired";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration) << error.what();
        EXPECT_NE(std::string(error.what()).find("-C"), std::string::npos) << error.what();
    }
}

TEST(MemcachedOfOtherKinds, ThatSpeaksAnotherProtocolIsToldOf) {
    const MemcachedServer server{{.binary = true}};
    expect_refused(server.url() + "?connect_timeout=2s&request_timeout=2s", errc::unreachable,
                   "-B binary");
}

class MemcachedUrls : public MemcachedTrap {};

TEST_F(MemcachedUrls, ThatMeanNothingAreRefused) {
    expect_refused("memcached://", errc::bad_configuration, "host");
    expect_refused(server_.url() + "/1", errc::bad_configuration, "databases");
    expect_refused(server_.url() + "?layout=hashed", errc::bad_configuration, "holdfast or plain");
    expect_refused(server_.url() + "," + server_.address(), errc::bad_configuration, "twice");
    expect_refused(server_.url() + "?tls_ca=x", errc::bad_configuration, "tls_ca");
}

TEST_F(MemcachedUrls, OfSomethingElseAreToldOf) {
    network_.garbage("HTTP/1.1 400 Bad Request\r\n");
    expect_refused(url_behind("?request_timeout=1s&connect_timeout=1s"), errc::bad_configuration,
                   "protocol");
}

/// One client would hold here, and another one there.
TEST_F(MemcachedUrls, OfANameThatIsSeveralServersAreRefusedOnceAndForAll) {
    const auto began = Clock::now();
    const std::string by_name = "memcached://store.test:" + std::to_string(server_.port());
    {
        const HostName name("store.test", {"127.0.0.1", "127.0.0.2"});
        expect_refused(by_name, errc::bad_configuration, "name each server");
        expect_refused(by_name + "," + server_.address(), errc::bad_configuration, "store.test");
    }
    EXPECT_LT(Clock::now() - began, 3s);
    const HostName twice("store.test", {"127.0.0.1", "127.0.0.1"});
    EXPECT_TRUE(can_lock(by_name)) << "it is written twice, and one";
}

TEST_F(MemcachedUrls, OfANameWithAnAddressOfEachKindAreTaken) {
    const HostName name("store.test", {"::1", "127.0.0.1"});
    const std::string url = "memcached://store.test:" + std::to_string(server_.port());
    EXPECT_TRUE(can_lock(url));
    const auto found = open_store(url).store->examine().value().findings;
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.back().name, "memcached.addresses");
    EXPECT_EQ(open_store(server_.url()).store->examine().value().findings.size(), 1U);
}

TEST_F(MemcachedUrls, OfANameThatBecomesSeveralServersEndWhatIsAskedOfIt) {
    const std::string by_name = "memcached://store.test:" + std::to_string(network_.port());
    std::optional<HostName> name(std::in_place, "store.test",
                                 std::vector<std::string>{"127.0.0.1"});
    const Client ours = connect(by_name);
    const Hold hold = ours.mutex("orders", {.lease = 3s}).acquire();
    name.reset();
    name.emplace("store.test", std::vector<std::string>{"127.0.0.1", "127.0.0.2"});
    network_.cut();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    EXPECT_EQ(error_of([&] { static_cast<void>(ours.mutex("bills").try_acquire()); }).code(),
              errc::bad_configuration);
}

TEST_F(MemcachedUrls, OfServersThatAreTooOldAreToldOf) {
    network_.garbage("VERSION 1.5.22\r\n");
    expect_refused(url_behind(), errc::bad_configuration, "1.6.10 or newer");
}

TEST_F(MemcachedUrls, AServerThatStandsStillIsGivenUpInTime) {
    server_.pause();
    const auto began = Clock::now();
    expect_refused(server_.url() + "?request_timeout=1s&connect_timeout=500ms", errc::unreachable,
                   server_.address());
    EXPECT_LT(Clock::now() - began, 4s);
    server_.resume();
}

}  // namespace
}  // namespace holdfast::test
