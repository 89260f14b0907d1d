#pragma once

#include <sstream>

#include "faults/behind_network.hpp"
#include "servers/etcd_server.hpp"
#include "support/fault_proxy.hpp"
#include "support/proxy_protocol.hpp"

/// What the fault tests of the etcd store share.
namespace holdfast::test {

inline WhichRequests asking(EtcdVerb verb) {
    return [verb](std::string_view request) { return etcd_verb(request) == verb; };
}

/// Keys with a prefix for each test.
class EtcdFaults : public BehindNetwork<EtcdServer> {
protected:
    EtcdFaults() : BehindNetwork("etcd", "?prefix=" + prefix(), http2_protocol) {}

    static LockOptions brief() { return {.lease = 2s}; }
    static std::string prefix() { return name_of_test() + "/"; }
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
};

}  // namespace holdfast::test
