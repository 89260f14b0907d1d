#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <holdfast/holdfast.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "support/await.hpp"

/// What the fault tests of stores with a server share.
namespace holdfast::test {

using namespace std::chrono_literals;

/// Counts what happens to a client's locks.
class Counting : public Observer {
public:
    void waiting(std::string_view) override { ++waits; }
    void lost(std::string_view, std::uint64_t, Loss) override { ++losses; }
    std::atomic<int> waits{0};
    std::atomic<int> losses{0};
};

/// An acquisition on a thread of its own. Ends when the test does.
class Acquiring {
public:
    Acquiring(const Client& client, const std::string& name, LockOptions options = {}) {
        hold_ = std::async(std::launch::async, [client, name, options, stop = stop_.get_token()] {
            return client.mutex(name, options).acquire(stop);
        });
    }
    Acquiring(Acquiring&&) = default;
    ~Acquiring() { stop_.request_stop(); }

    bool is_over(std::chrono::milliseconds limit = 0ms) const {
        return hold_.wait_for(limit) == std::future_status::ready;
    }
    /// Throws what it threw.
    Hold get() {
        if (!is_over(patience)) throw std::runtime_error("it hangs");
        return hold_.get();
    }

private:
    std::stop_source stop_;
    std::future<Hold> hold_;
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
