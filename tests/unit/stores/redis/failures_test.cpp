#include "stores/redis/failures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast::redis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const Address here = address_of(parse_store_url("redis://db:7000"));

TEST(AServersError, HasAMeaning) {
    const struct {
        const char* error;
        errc code;
        const char* advice;
    } known[] = {
        {"NOAUTH Authentication required.", errc::bad_configuration, "password_file"},
        {"WRONGPASS invalid username-password pair or user is disabled.", errc::bad_configuration,
         "check both"},
        {"NOPERM this user has no permissions", errc::bad_configuration, "rights"},
        {"READONLY You can't write against a read only replica.", errc::unreachable, "primary"},
        {"LOADING Redis is loading the dataset in memory", errc::unreachable, "in a moment"},
        {"BUSY Redis is busy running a script.", errc::unreachable, "script"},
        {"MASTERDOWN Link with MASTER is down", errc::unreachable, "primary"},
        {"TRYAGAIN Multiple keys request during rehashing of slot", errc::unreachable, "moment"},
        {"OOM command not allowed when used memory > 'maxmemory'.", errc::unreachable, "maxmemory"},
        {"MISCONF Redis is configured to save RDB snapshots", errc::unreachable, "log"},
        {"NOREPLICAS Not enough good replicas to write.", errc::unreachable, "min-replicas"},
        {"MOVED 3999 127.0.0.1:6381", errc::bad_configuration, "Cluster"},
        {"CROSSSLOT Keys in request don't hash to the same slot", errc::bad_configuration,
         "Cluster"},
        {"CLUSTERDOWN The cluster is down", errc::unreachable, "down"},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", errc::corrupt,
         "another name"},
    };
    for (const auto& [error, code, advice] : known) {
        const Failure failure = failure_of(error, here);
        EXPECT_EQ(failure.code, code) << error;
        EXPECT_EQ(failure.effect, Effect::none) << error;
        EXPECT_THAT(failure.sentence,
                    AllOf(StartsWith("redis db:7000: "), HasSubstr(advice), HasSubstr(error)));
    }
}

TEST(AServersError, InAScriptOfOursTellsThatSomebodyElseWroteThere) {
    for (const auto* const error :
         {"ERR user_function:272: attempt to compare number with nil script: holdfast_7b, on "
          "@user_function:272.",
          "ERR invalid expire time in 'set' command script: 4e30, on @user_script:483."}) {
        const Failure failure = failure_of(error, here);
        EXPECT_EQ(failure.code, errc::corrupt) << error;
        EXPECT_EQ(failure.effect, Effect::unknown) << error;
        EXPECT_THAT(failure.sentence, HasSubstr("not written by holdfast"));
    }
    for (const auto* const error :
         {"ERR Script attempted to access a non local key in a cluster node script: 4e30, on "
          "@user_script:4.",
          "ERR Unknown Redis command called from script script: 4e30, on @user_script:4.",
          "ERR Invalid command passed to redis.acl_check_cmd() script: 4e30, on @user_script:4.",
          "ERR Script killed by user with FUNCTION KILL. script: holdfast_7b, on "
          "@user_function:12."}) {
        EXPECT_EQ(failure_of(error, here).code, errc::unreachable) << error;
    }
}

TEST(AServersError, WithoutAMeaningMayHaveHadAnEffect) {
    for (const auto* const error : {"ERR something", "WRONGTYPES", "", "noauth"}) {
        const Failure failure = failure_of(error, here);
        EXPECT_EQ(failure.code, errc::unreachable) << error;
        EXPECT_EQ(failure.effect, Effect::unknown) << error;
        EXPECT_THAT(failure.sentence, HasSubstr(error));
    }
}

TEST(AServersError, AboutAScriptTellsOfAnOldServer) {
    const Failure failure =
        failure_of("ERR Error compiling script (new function): user_script:1: unexpected", here);
    EXPECT_EQ(failure.code, errc::bad_configuration);
    EXPECT_THAT(failure.sentence, HasSubstr("7.0"));
}

TEST(AServersError, SaysWhetherItPasses) {
    EXPECT_TRUE(is_passing("LOADING Redis is loading"));
    EXPECT_TRUE(is_passing("BUSY Redis is busy"));
    EXPECT_FALSE(is_passing("MASTERDOWN Link")) << "that of another server may be gone for ever";
    EXPECT_FALSE(is_passing("BUSYGROUP Consumer Group name already exists"));
    EXPECT_FALSE(is_passing("OOM command not allowed"));
    EXPECT_FALSE(is_passing("READONLY You can't write"));
}

TEST(AServersError, SaysWhatElseMustBeDone) {
    EXPECT_TRUE(is_unknown_script("NOSCRIPT No matching script. Please use EVAL."));
    EXPECT_FALSE(is_unknown_script("NOSCRIPTS"));
    EXPECT_TRUE(is_unknown_function("ERR Function not found"));
    EXPECT_FALSE(is_unknown_function("ERR Library not found"));
    EXPECT_TRUE(is_elsewhere("READONLY You can't write against a read only replica."));
    EXPECT_TRUE(is_elsewhere("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_TRUE(is_elsewhere("CLUSTERDOWN Hash slot not served"));
    EXPECT_FALSE(is_elsewhere("ERR READONLY"));
    EXPECT_TRUE(is_harmless_in_greeting(
        "NOPERM this user has no permissions to run the 'client|setname' command"));
    EXPECT_FALSE(
        is_harmless_in_greeting("NOPERM this user has no permissions to run the 'echo' command"));
    EXPECT_FALSE(is_harmless_in_greeting("ERR setname"));
}

TEST(AServersError, SaysWhetherFunctionsAreForbidden) {
    EXPECT_TRUE(
        forbids_functions("NOPERM this user has no permissions to run the 'fcall' command"));
    EXPECT_TRUE(
        forbids_functions("NOPERM User alice has no permissions to run the 'fcall' command"));
    EXPECT_TRUE(forbids_functions("ERR unknown command 'FCALL', with args beginning with:"));
    EXPECT_TRUE(forbids_functions("unsupported command 'fcall'")) << "a proxy's";
    EXPECT_FALSE(forbids_functions("NOPERM this user may not run 'set' on 'fcall'"));
    EXPECT_FALSE(forbids_functions("NOPERM No permissions to access a key"));
    EXPECT_FALSE(forbids_functions("ERR Unknown Redis command called from script"));
    EXPECT_TRUE(is_lasting_refusal(
        "NOPERM this user has no permissions to run the 'function|load' command"));
    EXPECT_FALSE(is_lasting_refusal("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_FALSE(is_lasting_refusal("READONLY You can't write against a read only replica."));
}

TEST(AServersError, NamesTheNodeThatServesAKey) {
    const auto moved = redirection_of("MOVED 3999 127.0.0.1:6381");
    ASSERT_TRUE(moved);
    EXPECT_FALSE(moved->asks);
    EXPECT_EQ(moved->hash_slot, 3999);
    EXPECT_EQ(moved->host, (Host{"127.0.0.1", 6381}));
    const auto asks = redirection_of("ASK 1 ::1:7000");
    ASSERT_TRUE(asks);
    EXPECT_TRUE(asks->asks);
    EXPECT_EQ(asks->host, (Host{"::1", 7000}));
    EXPECT_EQ(redirection_of("MOVED 7 :7000").value().host, (Host{"", 7000}));
}

TEST(AServersError, ThatNamesNoNodeIsNoRedirection) {
    for (const auto* const error :
         {"MOVED", "MOVED ", "MOVED 1", "MOVED 1 host", "MOVED x host:1", "MOVED 1 host:0",
          "MOVED 70000 host:1", "MOVED 1 host:70000", "ASKING 1 host:1", "READONLY"}) {
        EXPECT_FALSE(redirection_of(error)) << error;
    }
}

}  // namespace
}  // namespace holdfast::redis
