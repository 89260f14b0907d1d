#include "stores/zookeeper/ensemble.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include <holdfast/error.hpp>

#include "port/store_url.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

Ensemble of(const std::string& url) {
    return ensemble_of(parse_store_url(url));
}

std::string refusal_of(const std::string& url) {
    try {
        of(url);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    ADD_FAILURE() << url << " was taken";
    return {};
}

TEST(AnEnsemble, HasDefaults) {
    const auto one = of("zookeeper://zk.example");
    ASSERT_EQ(one.servers.size(), 1U);
    EXPECT_EQ(one.servers[0].port, 2181);
    EXPECT_EQ(one.tick, 2s);
    EXPECT_EQ(one.access(), Access::everybody);
    EXPECT_EQ(one.shown(), "zookeeper zk.example:2181");
}

TEST(AnEnsemble, HasTheServersThatTheUrlNames) {
    const auto three = of("zookeeper://a,b:2182,[::1]:2183/app/locks/");
    ASSERT_EQ(three.servers.size(), 3U);
    EXPECT_EQ(three.shown(), "zookeeper a:2181,b:2182,[::1]:2183/app/locks");
    EXPECT_EQ(three.chroot, "/app/locks");
}

TEST(AnEnsemble, IsUsedAsTheUrlSays) {
    const auto one = of("zookeeper://a?tick=500ms&connect_timeout=1s&request_timeout=5s");
    EXPECT_EQ(one.tick, 500ms);
    EXPECT_EQ(one.connect_timeout, 1s);
    EXPECT_EQ(one.request_timeout, 5s);
    EXPECT_EQ(one.servers[0].connect_timeout, 1s);
}

TEST(AnEnsemble, HasASessionForEachLeaseATickLongerAndInWholeTicks) {
    const auto one = of("zookeeper://a?tick=500ms");
    EXPECT_EQ(one.term_of(2s), 3s);
    EXPECT_EQ(one.term_of(1900ms), 3s);
    EXPECT_EQ(one.term_of(2001ms), 3500ms);
    EXPECT_EQ(one.term_of(1ms), 1500ms);
    EXPECT_EQ(of("zookeeper://a").term_of(30s), 34s);
}

TEST(AnEnsemble, TakesNoPrefixThatBeginsWithASlash) {
    for (const char* url : {"zookeeper://a?prefix=/", "zookeeper://a?prefix=/app/"}) {
        EXPECT_NE(refusal_of(url).find("the name orders is the path /orders"), std::string::npos);
    }
    of("zookeeper://a?prefix=");
    of("zookeeper://a?prefix=app/");
}

TEST(AnEnsemble, IsEnteredByAUserInEachWay) {
    EXPECT_EQ(of("zookeeper://a?auth=me:secret").credentials, "me:secret");
    EXPECT_EQ(of("zookeeper://me:secret@a").credentials, "me:secret");
    EXPECT_EQ(of("zookeeper://me:secret@a").access(), Access::creator);
    const test::TemporaryFolder folder;
    std::ofstream(folder.path() / "password") << "secret\n";
    const std::string file = "password_file=" + (folder.path() / "password").string();
    EXPECT_EQ(of("zookeeper://me@a?" + file).credentials, "me:secret");
    refusal_of("zookeeper://a?" + file);
    refusal_of("zookeeper://me@a");
    refusal_of("zookeeper://me:secret@a?auth=me:secret");
    refusal_of("zookeeper://a?auth=secret");
}

TEST(AnEnsemble, NeverShowsThePassword) {
    for (const char* url :
         {"zookeeper://a,b/app?auth=me:secret&tick=2s", "zookeeper://a?tick=2s&%61uth=me:secret",
          "zookeeper://me:secret@a?tick=1s", "zookeeper://a?auth=secret"}) {
        const auto parsed = parse_store_url(url);
        EXPECT_EQ(parsed.shown.find("secret"), std::string::npos) << parsed.shown;
    }
    EXPECT_EQ(refusal_of("zookeeper://a?auth=secret").find("secret"), std::string::npos);
    EXPECT_EQ(parse_store_url("zookeeper://a?auth=me:secret&tick=2s").shown,
              "zookeeper://a?tick=2s");
}

TEST(AnEnsemble, IsReachedByTlsWithItsScheme) {
    const auto one = of("zookeepers://a?tls_ca=ca.pem");
    EXPECT_EQ(one.servers[0].reach, net::Address::Reach::tls);
    EXPECT_EQ(one.servers[0].tls_ca, "ca.pem");
    refusal_of("zookeepers://a?tls_key=key.pem");
}

TEST(AnEnsemble, IsRefusedWithAReason) {
    EXPECT_NE(refusal_of("zookeeper:").find("names no host"), std::string::npos);
    EXPECT_NE(refusal_of("zookeeper://a/x//y").find("no node's path"), std::string::npos);
    EXPECT_NE(refusal_of("zookeeper://a/..").find("no node's path"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::zookeeper
