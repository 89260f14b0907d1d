#pragma once

#include <holdfast/holdfast.hpp>

#include "support/suite.hpp"

namespace holdfast::test {

/// An acquisition on a thread of its own. Ends when the test does.
class Acquiring {
public:
    Acquiring(const Client& client, const std::string& name, LockOptions options = {})
        : Acquiring([client, name, options](const std::stop_token& stop) {
              return client.mutex(name, options).acquire(stop);
          }) {}
    /// By whatever returns a hold.
    explicit Acquiring(std::function<Hold(const std::stop_token&)> acquire) {
        hold_ = std::async(std::launch::async, std::move(acquire), stop_.get_token());
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

}  // namespace holdfast::test
