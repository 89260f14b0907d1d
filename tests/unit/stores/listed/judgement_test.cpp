#include "stores/listed/judgement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "port/admission.hpp"

namespace holdfast::listed {
namespace {

using Verdict = Judgement::Verdict;

Neighbour who(std::string node, std::uint64_t weight = all, std::uint64_t capacity = all) {
    return {.node = std::move(node), .weight = weight, .capacity = capacity};
}

TEST(Judgement, AdmitsTheFirstAndLetsEachOtherWatchTheOneBeforeIt) {
    const std::vector line{who("a"), who("b"), who("c")};
    EXPECT_EQ(judge(line, "a").verdict, Verdict::admitted);
    const auto second = judge(line, "b");
    EXPECT_EQ(second.verdict, Verdict::waits);
    EXPECT_EQ(second.watched, std::vector<std::string>{"a"});
    EXPECT_TRUE(second.next) << "its end is the admission";
    const auto third = judge(line, "c");
    EXPECT_EQ(third.watched, std::vector<std::string>{"b"});
    EXPECT_FALSE(third.next);
}

TEST(Judgement, OfOneThatIsNotThereIsThat) {
    const std::vector line{who("a")};
    EXPECT_EQ(judge(line, "b").verdict, Verdict::absent);
}

TEST(Judgement, LetsReadersWatchTheNearestWriterAlone) {
    const std::vector line{who("r1", 1), who("w1"),    who("r2", 1),
                           who("w2"),    who("r3", 1), who("r4", 1)};
    EXPECT_EQ(judge(line, "r1").verdict, Verdict::admitted);
    EXPECT_EQ(judge(line, "w1").watched, std::vector<std::string>{"r1"});
    EXPECT_EQ(judge(line, "r2").watched, std::vector<std::string>{"w1"});
    EXPECT_EQ(judge(line, "r4").watched, std::vector<std::string>{"w2"});
    EXPECT_FALSE(judge(line, "r2").next) << "there are others ahead of it";
}

TEST(Judgement, LetsTheFirstThatWaitsForPermitsWatchAllHolders) {
    const std::vector line{who("a", 1, 3), who("b", 1, 3), who("c", 1, 3), who("d", 1, 3),
                           who("e", 1, 3)};
    EXPECT_EQ(judge(line, "c").verdict, Verdict::admitted);
    EXPECT_EQ(judge(line, "d").watched, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(judge(line, "e").watched, std::vector<std::string>{"d"});
    EXPECT_FALSE(judge(line, "d").next);
}

TEST(Judgement, RefusesTheLaterOneThatDisagrees) {
    const std::vector line{who("a", 1, 3), who("b"), who("c", 1, 4)};
    EXPECT_EQ(judge(line, "b").verdict, Verdict::conflict);
    EXPECT_EQ(judge(line, "b").capacity_ahead, 3U);
    EXPECT_EQ(judge(line, "c").verdict, Verdict::conflict);
    EXPECT_EQ(judge(line, "a").verdict, Verdict::admitted);
}

TEST(Judgement, IsNotMadeByWhoeverDisagreesAndIsAboutToLeave) {
    const std::vector line{who("a", 1, 3), who("b"), who("c", 2, 4), who("d", 1, 3)};
    const auto last = judge(line, "d");
    EXPECT_EQ(last.verdict, Verdict::waits) << "it agrees with the one that is admitted";
    EXPECT_EQ(last.watched, std::vector<std::string>{"c"});
    EXPECT_FALSE(last.next);
    const std::vector later{who("a", 1, 3), who("d", 1, 3)};
    EXPECT_EQ(judge(later, "d").verdict, Verdict::admitted);
}

TEST(Judgement, AdmitsNobodyPastOneThatDisagrees) {
    // It may have come to the front before it looked.
    const std::vector line{who("a", 1, 3), who("b"), who("c", 1, 3)};
    EXPECT_EQ(admitted_in(line), 1U);
    const std::vector later{who("b"), who("c", 1, 3)};
    EXPECT_EQ(judge(later, "b").verdict, Verdict::admitted);
    EXPECT_EQ(judge(later, "c").verdict, Verdict::conflict);
    EXPECT_EQ(judge(later, "c").watched, std::vector<std::string>{"b"});
}

TEST(Judgement, NamesOneThatKeepsItFromBeingTheFirst) {
    const std::vector line{who("a"), who("b", 1), who("c")};
    EXPECT_EQ(judge(line, "c").barred_by.node, "a") << "who waits may leave at any time";
    const std::vector permits{who("a", 2, 3), who("b", 2, 3), who("c", 1, 3)};
    EXPECT_EQ(judge(permits, "c").barred_by.node, "a");
}

TEST(Judgement, OfAConflictNamesOneThatKeepsAllWhoAgreeWithItFromBeingTheFirst) {
    const std::vector line{who("a", 1, 3), who("b", 1, 3), who("c"), who("d", 1, 3), who("e")};
    EXPECT_EQ(judge(line, "c").barred_by.node, "b");
    EXPECT_EQ(judge(line, "e").barred_by.node, "b") << "then c is the first, which it agrees with";
    EXPECT_EQ(judge(line, "d").verdict, Verdict::waits);
    EXPECT_EQ(judge(line, "d").barred_by.node, "a");
}

/// Of those that it names, one must go before the contender can be admitted.
TEST(Judgement, NeverLetsAContenderSleepOn) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        const std::uint64_t capacity = round % 2 == 0 ? all : 1 + random() % 5;
        std::vector<Neighbour> line;
        for (std::size_t i = 0, count = 1 + random() % 7; i < count; ++i) {
            const std::uint64_t weight =
                capacity == all ? (random() % 2 == 0 ? 1 : all) : 1 + random() % capacity;
            line.push_back(who("n" + std::to_string(i), weight, capacity));
        }
        const std::string self = line.back().node;
        while (judge(line, self).verdict == Verdict::waits) {
            const auto judgement = judge(line, self);
            ASSERT_FALSE(judgement.watched.empty());
            // All that is not watched may go, and those that wait among it too.
            std::vector<Neighbour> rest;
            for (const Neighbour& one : line) {
                const bool watched =
                    std::ranges::find(judgement.watched, one.node) != judgement.watched.end();
                if (watched || one.node == self) rest.push_back(one);
            }
            if (judgement.watched.size() == 1 && rest.size() == 2 &&
                judge(rest, self).verdict == Verdict::admitted) {
                // Then the one that is watched has been admitted before, and has said so.
                ASSERT_EQ(judge(rest, rest.front().node).verdict, Verdict::admitted);
                ASSERT_NE(judge(line, rest.front().node).verdict, Verdict::admitted);
            } else if (judgement.watched.size() == 1) {
                ASSERT_NE(judge(rest, self).verdict, Verdict::admitted);
            }
            std::erase_if(line,
                          [&](const Neighbour& one) { return one.node == judgement.watched[0]; });
        }
        ASSERT_EQ(judge(line, self).verdict, Verdict::admitted);
    }
}

TEST(Judgement, CountsHoldersFromTheFront) {
    EXPECT_EQ(admitted_in({}), 0U);
    EXPECT_EQ(admitted_in(std::vector{who("a"), who("b")}), 1U);
    EXPECT_EQ(admitted_in(std::vector{who("a", 1), who("b", 1), who("c"), who("d", 1)}), 2U);
    EXPECT_EQ(admitted_in(std::vector{who("a", 2, 3), who("b", 2, 3), who("c", 1, 3)}), 1U);
}

TEST(Judgement, OfANewcomerIsThatOfWhoeverStandsAtTheEnd) {
    const std::vector line{who("a", 1, 3), who("b", 1, 3)};
    const auto asking = [](std::uint64_t weight, std::uint64_t capacity) {
        Contender contender{.resource = "orders", .nonce = {}, .owner = "me"};
        contender.weight = weight;
        contender.capacity = capacity;
        return contender;
    };
    EXPECT_EQ(judge_newcomer(line, asking(1, 3)).verdict, Verdict::admitted);
    EXPECT_EQ(judge_newcomer(line, asking(2, 3)).verdict, Verdict::waits);
    EXPECT_EQ(judge_newcomer(line, asking(1, 4)).verdict, Verdict::conflict);
    EXPECT_EQ(judge_newcomer({}, asking(1, 4)).verdict, Verdict::admitted);
}

}  // namespace
}  // namespace holdfast::listed
