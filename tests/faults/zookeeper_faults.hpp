#pragma once

#include "faults/behind_network.hpp"
#include "port/store.hpp"
#include "servers/zookeeper_server.hpp"
#include "stores/open_store.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"

/// What the fault tests of the ZooKeeper store share.
namespace holdfast::test {

using Verb = ZookeeperVerb;

inline WhichRequests asking(Verb verb) {
    return [verb](std::string_view request) { return zookeeper_verb(request) == verb; };
}

/// A part of the tree for each test.
class ZookeeperFaults : public BehindNetwork<ZookeeperServer> {
protected:
    ZookeeperFaults()
        : BehindNetwork("zookeeper", "/" + name_of_test() + "?tick=500ms", zookeeper_protocol) {}

    static LockOptions brief() { return {.lease = 1s}; }
    /// In this test's part of the tree, with parameters of its own.
    static std::string url_at(int port, const std::string& parameters) {
        return "zookeeper://127.0.0.1:" + std::to_string(port) + "/" + name_of_test() + parameters;
    }
};

}  // namespace holdfast::test
