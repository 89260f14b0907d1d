#include "stores/open_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include <holdfast/error.hpp>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal_of(const std::string& url) {
    try {
        static_cast<void>(open_store(url));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    ADD_FAILURE() << url << " was accepted";
    return {};
}

TEST(OpenStore, AnUnknownSchemeListsTheKnownOnes) {
    EXPECT_THAT(refusal_of("sqlite:///x"), AllOf(HasSubstr("'sqlite'"), HasSubstr("memory")));
    EXPECT_THAT(refusal_of("nope://me:secret@host"), Not(HasSubstr("secret")));
    EXPECT_THAT(refusal_of("me:secret@host"), Not(HasSubstr("secret")));
}

#ifdef HOLDFAST_STORE_MEMORY
TEST(OpenStore, AnUnknownParameterListsTheKnownOnes) {
    EXPECT_THAT(refusal_of("memory:?color=red"),
                AllOf(HasSubstr("'color'"), HasSubstr("prefix"), HasSubstr("request_timeout")));
    EXPECT_THAT(refusal_of("memory:?mode=0600"), HasSubstr("unknown parameter 'mode'"));
}

TEST(OpenStore, ChecksATimeAlsoWhereItChangesNothing) {
    EXPECT_THAT(refusal_of("memory:?connect_timeout=soon"), HasSubstr("'soon'"));
}

TEST(OpenStore, AStoreWithoutServerRefusesOne) {
    EXPECT_THAT(refusal_of("memory://me:secret@host/x"),
                AllOf(HasSubstr("has no server"), Not(HasSubstr("secret"))));
}

TEST(OpenStore, MemoryIsPrivateWithoutANameAndSharedWithOne) {
    EXPECT_NE(open_store("memory:").store, open_store("memory:").store);
    const OpenedStore one = open_store("memory:open_store_test?prefix=a");
    const OpenedStore two = open_store("memory:open_store_test");
    EXPECT_EQ(one.prefix, "a");
    EXPECT_EQ(two.prefix, "holdfast/");
    EXPECT_EQ(one.url, "memory:open_store_test?prefix=a");
}
#endif

#ifdef HOLDFAST_STORE_LOCAL
class OpenLocalStore : public testing::Test {
protected:
    OpenLocalStore() {
        std::string pattern = testing::TempDir() + "open_store_XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~OpenLocalStore() override { std::filesystem::remove_all(folder_); }

    std::string url(const std::string& parameters) const {
        return "local://" + folder_ + parameters;
    }

private:
    std::string folder_;
};

TEST_F(OpenLocalStore, OpensTheFolder) {
    const OpenedStore opened = open_store(url("?mode=0660&request_timeout=500ms&prefix="));
    EXPECT_NE(opened.store, nullptr);
    EXPECT_EQ(opened.prefix, "");
    EXPECT_EQ(opened.url, url("?mode=0660&request_timeout=500ms&prefix="));
}

TEST_F(OpenLocalStore, RefusesAModeThatLocksSomebodyHalfOut) {
    for (const char* mode : {"", "0640", "0777", "rw", "0700", "-1", "06600"}) {
        EXPECT_THAT(refusal_of(url("?mode=" + std::string(mode))), HasSubstr("0660")) << mode;
    }
}

TEST_F(OpenLocalStore, RefusesATimeoutOfNought) {
    EXPECT_THAT(refusal_of(url("?request_timeout=0s")), HasSubstr("500ms"));
}

TEST(OpenLocalStoreUrl, RefusesAFolderThatIsNotAbsolute) {
    EXPECT_THAT(refusal_of("local:folder"), HasSubstr("local:///folder"));
    EXPECT_THAT(refusal_of("local://folder"), HasSubstr("three slashes"));
    EXPECT_THAT(refusal_of("local:///a%00b"), HasSubstr("NUL"));
}
#endif

#ifdef HOLDFAST_STORE_REDIS
TEST(OpenRedisStore, EachOfItsSchemesIsListed) {
    EXPECT_THAT(refusal_of("nope:"), HasSubstr("redis, rediss, redis+unix"));
}

TEST(OpenRedisStore, OnlyTheSchemeWithTlsTakesItsFiles) {
    for (const std::string parameter : {"tls_ca", "tls_cert", "tls_key"}) {
        EXPECT_EQ(prefix_in_store("rediss://host?" + parameter + "=/file"), "holdfast/");
        for (const std::string url : {"redis://host?", "redis+unix:///socket?"}) {
            EXPECT_THAT(refusal_of(url + parameter + "=/file"),
                        HasSubstr("unknown parameter '" + parameter + "'"));
        }
    }
}

TEST(OpenRedisStore, PutsNoPrefixBeforeNamesThatOthersUseToo) {
    for (const std::string url : {"redis://host?", "rediss://host?", "redis+unix:///socket?"}) {
        EXPECT_EQ(prefix_in_store(url), "holdfast/");
        EXPECT_EQ(prefix_in_store(url + "layout=holdfast"), "holdfast/");
        EXPECT_EQ(prefix_in_store(url + "layout=plain"), "");
        EXPECT_EQ(prefix_in_store(url + "layout=redisson"), "");
        EXPECT_EQ(prefix_in_store(url + "layout=redisson&prefix=a%2F"), "a/");
    }
}

TEST(OpenRedisStore, TakesAFileForThePasswordOnEveryScheme) {
    for (const std::string url : {"redis://host", "rediss://host", "redis+unix:///socket"}) {
        EXPECT_EQ(prefix_in_store(url + "?password_file=/file&prefix="), "");
    }
}
#endif

}  // namespace
}  // namespace holdfast
