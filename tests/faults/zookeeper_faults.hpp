#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "faults/ambush.hpp"
#include "faults/server_faults.hpp"
#include "port/store.hpp"
#include "servers/zookeeper_server.hpp"
#include "stores/open_store.hpp"
#include "support/await.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"

/// What the fault tests of the ZooKeeper store share.
namespace holdfast::test {

using Verb = ZookeeperVerb;

inline WhichRequests asking(Verb verb) {
    return [verb](std::string_view request) { return zookeeper_verb(request) == verb; };
}

/// A server, a part of its tree for each test, and a network before it that the test makes fail.
class ZookeeperFaults : public testing::Test {
protected:
    /// Through the network that fails.
    std::string url_behind(const std::string& parameters = "") const {
        return url_at(proxy_.port(), "?tick=500ms" + parameters);
    }
    Client client(const std::string& parameters = "", ClientOptions options = {}) const {
        return connect(url_behind(parameters), std::move(options));
    }
    /// Straight to the server.
    Client rival(const std::string& parameters = "") const {
        return connect(url_at(server_.port(), "?tick=500ms" + parameters));
    }
    static LockOptions brief() { return {.lease = 1s}; }
    static LockOptions long_lived() { return {.lease = 10s}; }

    std::size_t holders(const std::string& name) const {
        const auto found = watcher_.look_at(name);
        return found ? found->holders.size() : 0;
    }
    std::size_t waiters(const std::string& name) const {
        const auto found = watcher_.look_at(name);
        return found ? found->waiters.size() : 0;
    }
    [[nodiscard]] bool await_waiters(const std::string& name, std::size_t count) const {
        return await([&] { return waiters(name) == count; });
    }
    [[nodiscard]] bool await_nobody(const std::string& name) const {
        return await([&] { return !watcher_.look_at(name); });
    }

    /// In this test's part of the tree.
    static std::string url_at(int port, const std::string& parameters) {
        return "zookeeper://127.0.0.1:" + std::to_string(port) + "/" +
               testing::UnitTest::GetInstance()->current_test_info()->name() + parameters;
    }

    ZookeeperServer& server_ = ZookeeperServer::shared();
    FaultProxy proxy_{server_.port(), zookeeper_protocol};

private:
    Client watcher_ = rival();
};

}  // namespace holdfast::test
