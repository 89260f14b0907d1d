#pragma once

#include <holdfast/holdfast.hpp>

#include "faults/ambush.hpp"
#include "port/store.hpp"
#include "servers/redis_nodes.hpp"
#include "stores/open_store.hpp"
#include "stores/redis/command.hpp"
#include "stores/redlock/redlock_scripts.hpp"
#include "support/acquiring.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::test {

using Clock = std::chrono::steady_clock;

/// Whether a request asks a node for this script, in whatever way.
inline WhichRequests asking_for(std::string_view script) {
    return [script, digest = redis::Script(script).digest()](std::string_view request) {
        const bool loads = request.find("FUNCTION") != std::string_view::npos;
        return !loads && (request.find(digest) != std::string_view::npos ||
                          request.find(script) != std::string_view::npos);
    };
}

/// What the Error says that the function throws.
inline std::string sentence_of(const std::function<void()>& function, errc expected) {
    try {
        function();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), expected) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// Three real nodes, each with a network before it that the test makes fail.
class RedlockTrap : public testing::Test {
protected:
    explicit RedlockTrap(const RedisOptions& options = {}) : nodes_(3, options) {}
    /// What is asked about requests is the test's own, and clients may be there still.
    void TearDown() override {
        for (const auto& network : networks_) network->pass();
    }

    /// Through the networks that fail.
    std::string url_behind(const std::string& parameters = "") const {
        std::vector<int> ports;
        for (const auto& network : networks_) ports.push_back(network->port());
        return RedisNodes::url_at(ports, parameters);
    }
    Client client(const std::string& parameters = "") const {
        return connect(url_behind(parameters));
    }
    /// Straight to the nodes.
    Client rival(const std::string& parameters = "") const {
        return connect(nodes_.url(parameters));
    }
    RedisServer& node(std::size_t index) { return nodes_.node(index); }
    FaultProxy& network(std::size_t index) { return *networks_.at(index); }

    /// Who is in at that node alone, by its keys.
    std::string keys_of_holders(std::size_t index) {
        return node(index).command({"EVAL", "return redis.call('KEYS', '{holdfast/*}*=')", "0"});
    }
    bool is_free_everywhere() {
        for (std::size_t i = 0; i < 3; ++i) {
            if (keys_of_holders(i) != "[]") return false;
        }
        return true;
    }
    /// Far sooner than a lease of a minute ends.
    void expect_free_soon() {
        EXPECT_TRUE(await([&] { return is_free_everywhere(); }, 10s))
            << keys_of_holders(0) << keys_of_holders(1) << keys_of_holders(2);
    }
    static LockOptions long_lived() { return {.lease = 60s}; }

    RedisNodes nodes_;

private:
    std::vector<std::unique_ptr<FaultProxy>> made() const {
        std::vector<std::unique_ptr<FaultProxy>> all;
        auto& nodes = const_cast<RedisNodes&>(nodes_);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all.push_back(std::make_unique<FaultProxy>(nodes.node(i).port()));
        }
        return all;
    }
    const std::vector<std::unique_ptr<FaultProxy>> networks_ = made();
};

}  // namespace holdfast::test
