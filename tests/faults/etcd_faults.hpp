#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "faults/ambush.hpp"
#include "faults/server_faults.hpp"
#include "servers/etcd_server.hpp"
#include "support/await.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"

/// What the fault tests of the etcd store share.
namespace holdfast::test {

inline WhichRequests asking(EtcdVerb verb) {
    return [verb](std::string_view request) { return etcd_verb(request) == verb; };
}

/// A server, keys with a prefix for each test, and a network before it that the test makes fail.
class EtcdFaults : public testing::Test {
protected:
    /// Through the network that fails.
    Client client(const std::string& parameters = "", ClientOptions options = {}) const {
        return connect(url_at(proxy_.port(), parameters), std::move(options));
    }
    /// Straight to the server.
    Client rival() const { return connect(url_at(server_.port(), "")); }
    static LockOptions brief() { return {.lease = 2s}; }
    static LockOptions long_lived() { return {.lease = 10s}; }

    std::string prefix() const {
        return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "/";
    }
    /// The keys in line for a name, the oldest first.
    std::vector<std::string> keys(const std::string& name) const {
        std::istringstream lines(server_.ctl(
            {"get", "--prefix", prefix() + name + "/", "--keys-only", "--sort-by=CREATE"}));
        std::vector<std::string> found;
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty()) found.push_back(line);
        }
        return found;
    }
    /// Whether somebody was taken out of line whose request may come late.
    bool guarded(const std::string& name) const {
        return !server_.ctl({"get", "--prefix", prefix() + name + "!/", "--keys-only"}).empty();
    }
    /// Ends the lease of one in line for a name, as an administrator could.
    void revoke_lease_of(const std::string& name, std::size_t place) const {
        const std::string key = keys(name).at(place);
        const std::string contender = key.substr(key.rfind('/') + 1);
        server_.ctl({"lease", "revoke", contender.substr(0, contender.find('-'))});
    }
    /// Forgets all that was, but for what there is now.
    void compact() const {
        const std::string fields = server_.ctl({"put", "compacting", "now", "--write-out=fields"});
        const std::string word = "\"Revision\" : ";
        const auto begin = fields.find(word) + word.size();
        server_.ctl({"compact", fields.substr(begin, fields.find('\n', begin) - begin)});
    }

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

    std::string url_at(int port, const std::string& parameters) const {
        return "etcd://127.0.0.1:" + std::to_string(port) + "?prefix=" + prefix() + parameters;
    }

    EtcdServer& server_ = EtcdServer::shared();
    FaultProxy proxy_{server_.port(), http2_protocol};

private:
    Client watcher_ = rival();
};

}  // namespace holdfast::test
