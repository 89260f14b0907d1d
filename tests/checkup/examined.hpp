#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include <holdfast/checkup.hpp>
#include <holdfast/error.hpp>

#include "stores/open_store.hpp"
#include "support/suite.hpp"

/// What the tests of check-ups share: servers that are set up wrongly on purpose, and well.
namespace holdfast::test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Names = std::set<std::string>;

/// The names of what is found on a store, without measuring it. Each finding says what is so, what
/// follows, and what to do.
inline Names found_on(const std::string& url) {
    const auto examined = open_store(url).store->examine();
    if (!examined.ok()) {
        ADD_FAILURE() << url << ": " << examined.failure().sentence;
        return {};
    }
    Names names;
    for (const Finding& finding : examined.value().findings) {
        EXPECT_FALSE(finding.fact.empty() || finding.consequence.empty() || finding.remedy.empty())
            << finding.name;
        names.insert(finding.name);
    }
    return names;
}

/// A check-up as its users ask for it, of a store where all is well. It takes two seconds at most
/// to measure; a busy machine and a server that is far from idle are let have more.
inline Checkup expect_well(const std::string& url) {
    const auto began = std::chrono::steady_clock::now();
    Checkup checkup = check_up(url);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 8s);
    for (const Finding& finding : checkup.findings) ADD_FAILURE() << finding.fact;
    EXPECT_TRUE(checkup.is_safe());
    for (const Spread* spread : {&checkup.round_trip, &checkup.pair, &checkup.hand_off}) {
        EXPECT_GT(spread->count, 0U);
        EXPECT_GT(spread->p50, 0ns);
        EXPECT_GE(spread->p99, spread->p50);
        EXPECT_LT(spread->p50, 1s);
    }
    return checkup;
}

}  // namespace holdfast::test
