#include "port/store_url.hpp"
#include "support/suite.hpp"

#include <gmock/gmock.h>

#include <holdfast/error.hpp>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::string refusal_of(const std::string& url) {
    try {
        static_cast<void>(parse_store_url(url));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    ADD_FAILURE() << url << " was accepted";
    return {};
}

TEST(StoreUrl, TakesApartUserPasswordHostsPathAndParameters) {
    const StoreUrl url =
        parse_store_url("redis://me:secret@one:7000,two,[::1]:7002/3?prefix=x%2F&replicas=one");

    EXPECT_EQ(url.scheme, "redis");
    EXPECT_EQ(url.user, "me");
    EXPECT_EQ(url.password, "secret");
    EXPECT_THAT(url.hosts,
                ElementsAre(Host{"one", 7000}, Host{"two", std::nullopt}, Host{"::1", 7002}));
    EXPECT_EQ(url.path, "/3");
    EXPECT_THAT(url.parameters, ElementsAre(Pair("prefix", "x/"), Pair("replicas", "one")));
}

TEST(StoreUrl, NeedsNoAuthority) {
    EXPECT_EQ(parse_store_url("memory:jobs").path, "jobs");
    EXPECT_EQ(parse_store_url("local:").path, "");
    EXPECT_EQ(parse_store_url("local:///srv/locks").path, "/srv/locks");
    EXPECT_TRUE(parse_store_url("local:///srv/locks").hosts.empty());
}

TEST(StoreUrl, TheSchemeMayBeWrittenInCapitals) {
    EXPECT_EQ(parse_store_url("LOCAL:").scheme, "local");
}

TEST(StoreUrl, DecodesEveryPart) {
    const StoreUrl url = parse_store_url("redis://m%40e:s%2F%3a@h%2Dost/a%20b?prefix=%25%26");

    EXPECT_EQ(url.user, "m@e");
    EXPECT_EQ(url.password, "s/:");
    EXPECT_THAT(url.hosts, ElementsAre(Host{"h-ost", std::nullopt}));
    EXPECT_EQ(url.path, "/a b");
    EXPECT_EQ(url.prefix(), "%&");
}

TEST(StoreUrl, ThePasswordIsNotShown) {
    EXPECT_EQ(parse_store_url("redis://me:secret@host/1?prefix=a").shown,
              "redis://me@host/1?prefix=a");
    EXPECT_EQ(parse_store_url("redis://:secret@host").shown, "redis://host");
    EXPECT_EQ(parse_store_url("redis://me:se@cret@host").shown, "redis://me@host");
    EXPECT_EQ(parse_store_url("redis://me@host").shown, "redis://me@host");
    EXPECT_EQ(parse_store_url("local:///a@b").shown, "local:///a@b");
    EXPECT_EQ(parse_store_url("local:///a@b:c").shown, "local:///a@b:c");
    EXPECT_EQ(parse_store_url("local:///a:b%40c").shown, "local:///a:b%40c");
}

TEST(StoreUrl, NoRefusalQuotesWhatMayBeAPassword) {
    for (const char* url : {
             "redis://me:secret",
             "redis://me:secret/x@host",
             "redis://me:secret?x@host",
             "redis://me:sec%zzret@host",
             "redis://me:a/secret@host:1/x@y",
             "redis://me:a?secret=secret@host",
             "redis:///me:secret@host",
             "redis:/me:secret@host",
             "redis:me:secret@host",
             "local:///me:secret@host",
             "redis://me:secret@host:port",
             "redis://me:secret@a,",
             "redis://me:secret@host?a=1&a=2",
             "redis://me:secret@host?=1",
             "redis://me:secret@[::1",
             "://me:secret@host",
             "secret",
         }) {
        EXPECT_THAT(refusal_of(url), Not(HasSubstr("secret"))) << url;
    }
}

TEST(StoreUrl, RefusesWhatIsNoUrl) {
    EXPECT_THAT(refusal_of("/var/locks"), HasSubstr("does not start with a scheme"));
    EXPECT_THAT(refusal_of(":x"), HasSubstr("does not start with a scheme"));
    EXPECT_THAT(refusal_of("1x:y"), HasSubstr("does not start with a scheme"));
    EXPECT_THAT(refusal_of("redis://host:0"), HasSubstr("no port from 1 to 65535"));
    EXPECT_THAT(refusal_of("redis://host:65536"), HasSubstr("no port from 1 to 65535"));
    EXPECT_THAT(refusal_of("redis://host:"), HasSubstr("no port from 1 to 65535"));
    EXPECT_THAT(refusal_of("redis://[::1]x7"), HasSubstr("not : and a port"));
    EXPECT_THAT(refusal_of("redis://[::1]7000"), HasSubstr("not : and a port"));
    EXPECT_THAT(refusal_of("redis://a,,b"), HasSubstr("host without a name"));
    EXPECT_THAT(refusal_of("local:///a%2"), HasSubstr("write a plain % as %25"));
}

TEST(StoreUrl, IsCompletedByWhatIsSaidElsewhere) {
    StoreUrl url = parse_store_url("rediss://db?prefix=a/");
    url.complete({.user = "me",
                  .password = "s3cret/@",
                  .tls_ca = "ca.pem",
                  .request_timeout = std::chrono::milliseconds{250}});
    EXPECT_EQ(url.user, "me");
    EXPECT_EQ(url.password, "s3cret/@");
    EXPECT_EQ(url.text("tls_ca"), "ca.pem");
    EXPECT_EQ(url.duration("request_timeout"), std::chrono::milliseconds{250});
    EXPECT_EQ(url.shown, "rediss://db?prefix=a/");
}

TEST(StoreUrl, IsNotToldTheSameTwice) {
    const auto completed = [](const char* text, const ConnectionOptions& connection) {
        StoreUrl url = parse_store_url(text);
        url.complete(connection);
    };
    EXPECT_THROW(completed("redis://me@db", {.user = "you"}), Error);
    EXPECT_THROW(completed("redis://:old@db", {.password = "new"}), Error);
    EXPECT_THROW(completed("redis://db?password_file=f", {.password = "new"}), Error);
    EXPECT_THROW(completed("rediss://db?tls_ca=a", {.tls_ca = "b"}), Error);
    try {
        completed("redis://:old@db", {.password = "new"});
    } catch (const Error& error) {
        const std::string sentence = error.what();
        EXPECT_EQ(sentence.find("old"), std::string::npos);
        EXPECT_EQ(sentence.find("new"), std::string::npos);
    }
}

TEST(StoreUrl, AParameterIsGivenOnce) {
    EXPECT_THAT(refusal_of("local:?mode=0600&mode=0660"),
                AllOf(HasSubstr("mode"), HasSubstr("twice")));
    EXPECT_THAT(refusal_of("local:?m%6Fde=0600&mode=0660"), HasSubstr("twice"));
}

TEST(StoreUrl, ThePrefixIsOursUnlessGiven) {
    EXPECT_EQ(parse_store_url("local:").prefix(), "holdfast/");
    EXPECT_EQ(parse_store_url("local:?prefix=").prefix(), "");
    EXPECT_EQ(parse_store_url("local:?prefix=team/").prefix(), "team/");
}

TEST(StoreUrl, ReadsDurationsAsPeopleWriteThem) {
    EXPECT_EQ(parse_store_url("local:?t=500ms").duration("t"), 500ms);
    EXPECT_EQ(parse_store_url("local:?t=2s").duration("t"), 2s);
    EXPECT_EQ(parse_store_url("local:?t=2").duration("t"), 2s);
    EXPECT_EQ(parse_store_url("local:?t=5m").duration("t"), 5min);
    EXPECT_EQ(parse_store_url("local:?t=1h").duration("t"), 1h);
    EXPECT_EQ(parse_store_url("local:").duration("t"), std::nullopt);
}

TEST(StoreUrl, RefusesADurationThatIsNoneOrNought) {
    for (const char* text : {"", "s", "0", "0s", "-1s", "2 s", "2d", "99999999999s", "1.5s"}) {
        const StoreUrl url = parse_store_url("local:?t=" + std::string(text));
        EXPECT_THROW(static_cast<void>(url.duration("t")), Error) << text;
    }
}

}  // namespace
}  // namespace holdfast
