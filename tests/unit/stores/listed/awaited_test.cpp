#include "stores/listed/awaited.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::listed {
namespace {

TEST(AwaitedAnswers, AreGoneOnWithOnceThoughTheyComeAtTheSameTime) {
    constexpr int rounds = 2000;
    constexpr int threads = 4;
    std::vector<Awaited> awaited(rounds);
    std::vector<int> taken_down(rounds);
    std::atomic<int> gone_on{0};
    for (Awaited& one : awaited) one.expect(threads);
    const auto answer = [&] {
        for (std::size_t i = 0; i < rounds; ++i) {
            const bool last = awaited[i].is_last([&] { ++taken_down[i]; });
            if (last && taken_down[i] == threads) ++gone_on;
        }
    };
    std::vector<std::jthread> answering;
    for (int i = 0; i < threads; ++i) answering.emplace_back(answer);
    answering.clear();
    EXPECT_EQ(gone_on, rounds);
}

}  // namespace
}  // namespace holdfast::listed
