#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "servers/redis_server.hpp"
#include "support/loopback.hpp"

namespace holdfast::test {

/// Three masters and three replicas of a real Redis Cluster, which has settled when the constructor
/// returns: server(i) is a master for i below 3, and server(i + 3) its replica.
///
/// A node that says nothing for a second is failing; so a failover takes about two.
class RedisCluster {
public:
    static constexpr std::size_t masters = 3;
    static constexpr std::size_t size = 2 * masters;

    /// Lines of redis.conf for all nodes.
    explicit RedisCluster(const std::vector<std::string>& settings = {});

    /// "redis+cluster://h1,h2,h3,...": all nodes.
    std::string url(const std::string& parameters = "") const;
    RedisServer& server(std::size_t index) { return *servers_.at(index); }

    /// The node that serves the hash slot of this key by what most nodes say; waits until there is
    /// one that answers.
    RedisServer& server_of(const std::string& key);
    /// Moves the hash slot of this key, and all keys in it, to another master.
    void move_slot(const std::string& key, RedisServer& to);
    void move_slot(int slot, RedisServer& to);
    /// What a migration begins with: from now on the slot's keys are in two places.
    void begin_moving(int slot, RedisServer& from, RedisServer& to);
    void move_keys(int slot, RedisServer& from, RedisServer& to);
    void end_moving(int slot, RedisServer& from, RedisServer& to);
    RedisServer& server_of_slot(int slot);
    int slot_of(const std::string& key) const;

    /// Deletes all keys.
    void flush();
    /// All nodes that run say that all is well.
    void await_whole();

private:
    void configure() const;
    bool all_agree_on(int slot, const std::string& owner) const;
    static bool has_slot(const std::string& line, int slot);
    std::string views() const;
    std::string id_of(const RedisServer& server) const {
        return server.command({"CLUSTER", "MYID"});
    }

    std::deque<LoopbackPort> bus_ports_;
    std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace holdfast::test
