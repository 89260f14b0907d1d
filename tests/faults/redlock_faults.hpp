#pragma once

#include <holdfast/holdfast.hpp>

#include "faults/ambush.hpp"
#include "faults/redis_faults.hpp"
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
    /// Who is in there as `orders`.
    std::string nonces_at(std::size_t index) { return node(index).command({"HKEYS", holders_}); }
    /// Somebody whom no client knows of.
    struct Planted {
        char nonce = 'a';
        std::chrono::milliseconds lease = 60s;
        std::uint64_t weight = all;
        std::uint64_t fence = 1;
    };
    void plant_holder(std::size_t index, const Planted& one) {
        const std::string_view script = R"(
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]
            redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(tonumber(ARGV[2]),
                tonumber(ARGV[3]), now + ARGV[4] * 1000, 0, now, 'here 1 ' .. ARGV[1])))";
        node(index).command({"EVAL", std::string(script), "1", holders_, std::string(32, one.nonce),
                             std::to_string(one.weight), std::to_string(one.fence),
                             std::to_string(one.lease.count())});
    }
    /// Far sooner than a lease of a minute ends.
    void expect_free_soon() {
        EXPECT_TRUE(await([&] { return is_free_everywhere(); }, 10s))
            << keys_of_holders(0) << keys_of_holders(1) << keys_of_holders(2);
    }
    static LockOptions long_lived() { return {.lease = 60s}; }

    RedisNodes nodes_;
    // The keys of `orders`.
    const std::string holders_ = line_key("holdfast/orders") + "=";
    const std::string called_ = holders_ + "called";

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
