#include "stores/redis/functions.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

constexpr const char* not_found = "ERR Function not found";
constexpr const char* no_right =
    "NOPERM this user has no permissions to run the 'function|load' command";

Reply answer(Reply::Kind kind, std::string text) {
    Reply reply;
    reply.kind = kind;
    reply.text = std::move(text);
    return reply;
}

class TheFunctions : public testing::Test {
protected:
    /// It is refused, asked for in this way.
    std::optional<Way> instead(const Script& script, Way way, std::string_view error) {
        return functions_.instead(script, way, error, now_);
    }
    /// What is to be sent to the server before anything else.
    const Script* sent() {
        std::string bytes;
        return functions_.append_library(bytes);
    }
    void taken(const Script& script) {
        functions_.given(script, answer(Reply::Kind::text, script.function()), now_);
    }
    void refused(const Script& script, std::string error) {
        functions_.given(script, answer(Reply::Kind::error, std::move(error)), now_);
    }
    Way way() const { return functions_.way(now_); }

    const Script enter_{"return 'enter'"};
    const Script leave_{"return 'leave'"};
    Functions functions_;
    Moment now_ = BootClock::now();
};

TEST_F(TheFunctions, AreAskedForUntilTheServerObjects) {
    EXPECT_EQ(way(), Way::function);
    EXPECT_EQ(sent(), nullptr);
}

TEST_F(TheFunctions, ThatAServerDoesNotHaveAreGivenToItOnceAndAskedForAgain) {
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::function);
    EXPECT_EQ(instead(leave_, Way::function, not_found), Way::function);
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::function) << "of another request";
    EXPECT_EQ(sent(), &enter_);
    EXPECT_EQ(sent(), &leave_);
    EXPECT_EQ(sent(), nullptr);
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::function) << "asked before";
    EXPECT_EQ(sent(), nullptr) << "it is on its way";
    taken(enter_);
    taken(leave_);
    EXPECT_EQ(way(), Way::function);
}

/// Whoever asks for the one may be gone when it would hear that it does not have the other.
TEST_F(TheFunctions, ComeWithThoseThatAreAskedForNext) {
    Script enter("return 1");
    const Script leave("return 2");
    enter.comes_with(leave);
    EXPECT_EQ(instead(enter, Way::function, not_found), Way::function);
    EXPECT_EQ(sent(), &enter);
    EXPECT_EQ(sent(), &leave);
    EXPECT_EQ(sent(), nullptr);
}

TEST_F(TheFunctions, AreGivenAgainAfterAFlush) {
    instead(enter_, Way::function, not_found);
    sent();
    taken(enter_);
    now_ += 2s;
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::function);
    EXPECT_EQ(sent(), &enter_);
}

TEST_F(TheFunctions, AreDoneWithoutWhereGivingThemDoesNotHelp) {
    instead(enter_, Way::function, not_found);
    sent();
    taken(enter_);
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::digest);
    EXPECT_EQ(way(), Way::digest);
    EXPECT_EQ(sent(), nullptr);
    now_ += 11s;
    EXPECT_EQ(way(), Way::function) << "it may help by now";
}

TEST_F(TheFunctions, AreDoneWithoutForAsLongAsTheConnectionWhereTheyMayNotBeGiven) {
    instead(enter_, Way::function, not_found);
    sent();
    refused(enter_, no_right);
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::digest);
    EXPECT_EQ(sent(), nullptr) << "it would be refused again";
    now_ += 24h;
    EXPECT_EQ(way(), Way::digest);
    functions_.forget();
    EXPECT_EQ(way(), Way::function);
}

TEST_F(TheFunctions, AreDoneWithoutForAMomentWhereThereIsNoMemoryForThem) {
    instead(enter_, Way::function, not_found);
    sent();
    refused(enter_, "OOM command not allowed when used memory > 'maxmemory'.");
    EXPECT_EQ(way(), Way::digest);
    now_ += 11s;
    EXPECT_EQ(way(), Way::function);
    EXPECT_EQ(instead(enter_, Way::function, not_found), Way::function);
    EXPECT_EQ(sent(), &enter_);
}

TEST_F(TheFunctions, AreDoneWithoutWhereTheUserMayNotCallThem) {
    EXPECT_EQ(instead(enter_, Way::function,
                      "NOPERM this user has no permissions to run the 'fcall' command"),
              Way::digest);
    EXPECT_EQ(way(), Way::digest);
    EXPECT_EQ(sent(), nullptr);
}

TEST_F(TheFunctions, OrScriptsThatAreRefusedForAnythingElseAreNotAskedForInAnotherWay) {
    EXPECT_EQ(instead(enter_, Way::function, "OOM allow-oom flag is not set"), std::nullopt);
    EXPECT_EQ(instead(enter_, Way::function, "NOSCRIPT No matching script."), std::nullopt);
    EXPECT_EQ(instead(enter_, Way::digest, not_found), std::nullopt);
    EXPECT_EQ(instead(enter_, Way::text, "NOSCRIPT No matching script."), std::nullopt);
}

TEST_F(TheFunctions, AreNoMatterForAServerThatHasForgottenAScript) {
    EXPECT_EQ(instead(enter_, Way::digest, "NOSCRIPT No matching script."), Way::text);
    EXPECT_EQ(way(), Way::function);
}

}  // namespace
}  // namespace holdfast::redis
