#pragma once

#include <holdfast/holdfast.hpp>

#include "support/acquiring.hpp"

/// What the fault tests of stores with a server share.
namespace holdfast::test {

using Clock = std::chrono::steady_clock;

/// Counts what happens to a client's locks.
class Counting : public Observer {
public:
    void waiting(std::string_view) override { ++waits; }
    void lost(std::string_view, std::uint64_t, Loss) override { ++losses; }
    std::atomic<int> waits{0};
    std::atomic<int> losses{0};
};

/// The error that `function` throws; one without a code, and a failed test, when it throws none.
template <class Function>
Error error_of(Function function) {
    try {
        static_cast<void>(function());
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "it did not fail";
    return Error(errc{}, "");
}

inline void expect_says(const Error& error, std::string_view words) {
    EXPECT_NE(std::string_view(error.what()).find(words), std::string_view::npos) << error.what();
}

}  // namespace holdfast::test
