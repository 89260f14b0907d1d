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

/// Whether a connection is opened to go on with a session that there is.
inline bool takes_up_a_session(std::string_view request) {
    return !zookeeper_verb(request) && request.size() > 28 &&
           request.substr(20, 8) != std::string(8, '\0');
}
/// What a server answers to one that wants to go on with a session which it takes for ended.
inline std::string session_is_over() {
    return std::string("\0\0\0\x25", 4) + std::string(16, '\0') + std::string("\0\0\0\x10", 4) +
           std::string(17, '\0');
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
