#pragma once

#include "support/fault_proxy.hpp"
#include "support/suite.hpp"

namespace holdfast::test {

using WhichRequests = std::function<bool(std::string_view request)>;

/// What is done to some requests on their way, the first of them first.
class Ambush {
public:
    Ambush(FaultProxy& proxy, WhichRequests which, std::vector<Verdict> verdicts) {
        proxy.on_request([which = std::move(which), verdicts = std::move(verdicts),
                          seen = seen_](std::string_view request) {
            if (!which(request)) return Verdict::pass;
            const std::size_t number = (*seen)++;
            return number < verdicts.size() ? verdicts[number] : Verdict::pass;
        });
    }
    std::size_t seen() const { return *seen_; }
    [[nodiscard]] bool await_seen(std::size_t count) const {
        return await([&] { return seen() >= count; });
    }

private:
    std::shared_ptr<std::atomic<std::size_t>> seen_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace holdfast::test
