#include "stores/redis/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include <holdfast/error.hpp>

#include "support/temporary_folder.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Address of(const std::string& url) {
    return address_of(parse_store_url(url));
}

std::string refusal_of(const std::string& url) {
    try {
        static_cast<void>(of(url));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    ADD_FAILURE() << url << " was accepted";
    return {};
}

TEST(AnAddress, HasDefaults) {
    const Address address = of("redis://db.example");
    EXPECT_EQ(address.reach, Address::Reach::tcp);
    EXPECT_EQ(address.host, "db.example");
    EXPECT_EQ(address.port, 6379);
    EXPECT_EQ(address.database, 0U);
    EXPECT_EQ(address.user, "");
    EXPECT_EQ(address.password, "");
    EXPECT_EQ(address.connect_timeout, 3s);
    EXPECT_EQ(address.request_timeout, 3s);
    EXPECT_EQ(address.shown(), "redis db.example:6379");
}

TEST(AnAddress, IsWhatTheUrlSays) {
    const Address address =
        of("redis://alice:secret@[::1]:7000/3?connect_timeout=1s&request_timeout=250ms");
    EXPECT_EQ(address.host, "::1");
    EXPECT_EQ(address.port, 7000);
    EXPECT_EQ(address.database, 3U);
    EXPECT_EQ(address.user, "alice");
    EXPECT_EQ(address.password, "secret");
    EXPECT_EQ(address.connect_timeout, 1s);
    EXPECT_EQ(address.request_timeout, 250ms);
    EXPECT_EQ(address.shown(), "redis [::1]:7000");
}

TEST(AnAddress, MayBeASocket) {
    const Address address = of("redis+unix:///run/redis/socket");
    EXPECT_EQ(address.reach, Address::Reach::unix_socket);
    EXPECT_EQ(address.host, "/run/redis/socket");
    EXPECT_EQ(address.shown(), "redis /run/redis/socket");
}

TEST(AnAddress, OfASocketIsRefusedWhenTheKernelCouldNotTakeIt) {
    EXPECT_EQ(of("redis+unix:///" + std::string(106, 'a')).host.size(), 107U);
    EXPECT_THAT(refusal_of("redis+unix:///" + std::string(107, 'a')), HasSubstr("107 bytes"));
    EXPECT_THAT(refusal_of("redis+unix:///a%00b"), HasSubstr("NUL"));
    EXPECT_THAT(refusal_of("redis+unix:///"), HasSubstr("no socket"));
    EXPECT_THAT(refusal_of("redis+unix://host/socket"), HasSubstr("no socket"));
}

TEST(AnAddress, WantsOneHostAndTheNumberOfADatabase) {
    EXPECT_THAT(refusal_of("redis:///0"), HasSubstr("no host"));
    EXPECT_THAT(refusal_of("redis://a,b"), HasSubstr("several hosts"));
    for (const auto* const path : {"/x", "/1x", "/-1", "/1/2", "/99999999999", "/ 1"}) {
        EXPECT_THAT(refusal_of("redis://host" + std::string(path)), HasSubstr("database")) << path;
    }
    EXPECT_EQ(of("redis://host/").database, 0U);
}

TEST(AnAddress, WithTlsNamesItsFiles) {
    const Address address = of("rediss://host?tls_ca=/ca&tls_cert=/cert");
    EXPECT_EQ(address.reach, Address::Reach::tls);
    EXPECT_EQ(address.tls_ca, "/ca");
    EXPECT_EQ(address.tls_cert, "/cert");
    EXPECT_EQ(address.tls_key, "/cert") << "both may be in one file";
    EXPECT_EQ(of("rediss://host?tls_cert=/cert&tls_key=/key").tls_key, "/key");
    EXPECT_THAT(refusal_of("rediss://host?tls_key=/key"), HasSubstr("tls_cert"));
}

class APasswordFile : public testing::Test {
protected:
    std::string url_with(const std::string& content, const std::string& before = "redis://host") {
        const auto path = folder_.path() / "password";
        std::ofstream(path) << content;
        return before + "?password_file=" + path.string();
    }
    test::TemporaryFolder folder_;
};

TEST_F(APasswordFile, IsItsFirstLine) {
    EXPECT_EQ(of(url_with("secret\n")).password, "secret");
    EXPECT_EQ(of(url_with("secret")).password, "secret");
    EXPECT_EQ(of(url_with("secret\r\nmore\n")).password, "secret");
    EXPECT_EQ(of(url_with(" with spaces ")).password, " with spaces ");
    EXPECT_EQ(of(url_with("secret", "redis://alice@host")).user, "alice");
}

TEST_F(APasswordFile, IsRefusedWhenItHasNone) {
    EXPECT_THAT(refusal_of(url_with("")), HasSubstr("empty"));
    EXPECT_THAT(refusal_of(url_with("\nsecret")), HasSubstr("empty"));
    EXPECT_THAT(refusal_of("redis://host?password_file=" + folder_.path().string()),
                HasSubstr("cannot be read"));
    EXPECT_THAT(refusal_of("redis://host?password_file=/nowhere"), HasSubstr("cannot be read"));
}

TEST_F(APasswordFile, IsRefusedBesideAPassword) {
    EXPECT_THAT(refusal_of(url_with("secret", "redis://:other@host")),
                AllOf(HasSubstr("leave one of them out"), Not(HasSubstr("other"))));
}

TEST_F(APasswordFile, OfTheSentinelsIsAnother) {
    const auto path = folder_.path() / "password";
    std::ofstream(path) << "hidden\n";
    const Servers servers =
        servers_of(parse_store_url("redis+sentinel://alice:secret@a,b:7000/orders/3"
                                   "?sentinel_user=bob&sentinel_password_file=" +
                                   path.string()));
    EXPECT_EQ(servers.kind, Servers::Kind::sentinel);
    EXPECT_EQ(servers.master, "orders");
    EXPECT_EQ(servers.node.user, "alice");
    EXPECT_EQ(servers.node.password, "secret");
    EXPECT_EQ(servers.node.database, 3U);
    ASSERT_EQ(servers.named.size(), 2U);
    EXPECT_EQ(servers.named[0].port, 26379);
    EXPECT_EQ(servers.named[1].port, 7000);
    EXPECT_EQ(servers.named[0].user, "bob");
    EXPECT_EQ(servers.named[0].password, "hidden");
    EXPECT_EQ(servers.named[0].database, 0U);
    EXPECT_EQ(servers.shown(), "redis orders by sentinels a:26379,b:7000");
}

TEST(Servers, OfAClusterAreEnteredAlike) {
    const Servers servers =
        servers_of(parse_store_url("rediss+cluster://:secret@a,b:7000?tls_ca=/ca"));
    EXPECT_EQ(servers.kind, Servers::Kind::cluster);
    ASSERT_EQ(servers.named.size(), 2U);
    EXPECT_EQ(servers.named[0].port, 6379);
    EXPECT_EQ(servers.named[1].host, "b");
    for (const Address& one : {servers.named[0], servers.named[1], servers.node}) {
        EXPECT_EQ(one.reach, Address::Reach::tls);
        EXPECT_EQ(one.password, "secret");
        EXPECT_EQ(one.tls_ca, "/ca");
    }
    EXPECT_EQ(servers.shown(), "redis cluster a:6379,b:7000");
}

TEST(Servers, AreRefusedWhenSomethingIsMissing) {
    const auto refused = [](const std::string& url) {
        try {
            static_cast<void>(servers_of(parse_store_url(url)));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refused("redis+sentinel://a,b"), HasSubstr("no master"));
    EXPECT_THAT(refused("redis+sentinel:///orders"), HasSubstr("no host"));
    EXPECT_THAT(refused("redis+sentinel://a/orders/x"), HasSubstr("no number"));
    EXPECT_THAT(refused("redis+sentinel://a/orders?sentinel_user=bob"),
                HasSubstr("sentinel_password_file"));
    EXPECT_THAT(refused("redis+cluster://"), HasSubstr("no host"));
    EXPECT_THAT(refused("redis+cluster://a/3"), HasSubstr("one database"));
}

TEST(AnAddress, WantsAPasswordForAUser) {
    EXPECT_THAT(refusal_of("redis://alice@host"), HasSubstr("without a password"));
}

}  // namespace
}  // namespace holdfast::redis
