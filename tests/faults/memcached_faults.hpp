#pragma once

#include <holdfast/holdfast.hpp>

#include "faults/ambush.hpp"
#include "port/store.hpp"
#include "servers/memcached_server.hpp"
#include "stores/open_store.hpp"
#include "support/acquiring.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::test {

using Clock = std::chrono::steady_clock;

inline WhichRequests asking(MemcachedVerb verb) {
    return [verb](std::string_view request) { return memcached_verb(request) == verb; };
}

/// A real memcached, and a network before it that the test makes fail.
class MemcachedTrap : public testing::Test {
protected:
    explicit MemcachedTrap(MemcachedOptions options = {}) : server_(std::move(options)) {}
    /// What is asked about requests is the test's own, and clients may be there still.
    void TearDown() override { network_.pass(); }

    /// Through the network that fails.
    std::string url_behind(const std::string& parameters = "") const {
        return server_.url_through(network_.port()) + parameters;
    }
    Client client(const std::string& parameters = "") const {
        return connect(url_behind(parameters));
    }
    /// Straight to the server.
    Client rival() const { return connect(server_.url()); }

    static LockOptions long_lived() { return {.lease = 60s}; }
    Contender contender() const {
        Contender one{.resource = "holdfast/orders",
                      .nonce = {{std::byte{1}, std::byte(++contenders_)}},
                      .owner = "somebody",
                      .lease = 60s};
        return one;
    }

    Ambush ambush(MemcachedVerb verb, std::vector<Verdict> verdicts) {
        return {network_, asking(verb), std::move(verdicts)};
    }
    /// Lets pass what was held back, and waits until the server has done it.
    void land() {
        const auto before = network_.late_replies();
        network_.let_pass();
        ASSERT_TRUE(await([&] { return network_.late_replies() > before; })) << "it did not come";
    }
    bool is_free() const { return !rival().look_at("orders"); }
    /// Far sooner than a lease of a minute ends.
    void expect_free_soon() const {
        EXPECT_TRUE(await([&] { return is_free(); }, 10s));
    }

    MemcachedServer server_;
    FaultProxy network_{server_.port(), memcached_protocol};

private:
    mutable int contenders_ = 0;
};

}  // namespace holdfast::test
