#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "servers/redis_server.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

struct SentinelOptions {
    /// Of the servers, and of the sentinels.
    std::string password = {};
    std::string sentinel_password = {};
};

/// A real sentinel of one master: redis-server in another role.
class RedisSentinel final : public ServerProcess {
public:
    RedisSentinel(int master_port, SentinelOptions options);

    std::string url_through(int port) const override;
    /// As of a RedisServer; by its own port, for it has no other.
    std::string command(const std::vector<std::string>& words) const;
    /// Where it says that the master is; nought when it knows of none.
    int master_port() const;

private:
    std::vector<std::string> command_line() const override;
    bool serves() const override;
    void make_data() const override;

    const int master_port_;
    const SentinelOptions options_;
};

/// A master, two replicas and three sentinels that watch them. All know each other, and the
/// replicas are in step, when the constructor returns.
///
/// A master that says nothing for half a second is down; so a failover takes about a second more.
class RedisSentinels {
public:
    static constexpr std::size_t size = 3;
    static constexpr const char* master_name = "mymaster";

    explicit RedisSentinels(SentinelOptions options = {});

    /// "redis+sentinel://h1,h2,h3/mymaster"
    std::string url(const std::string& parameters = "") const;
    std::string url_at(const std::string& addresses, const std::string& parameters = "") const;

    RedisServer& server(std::size_t index) { return *servers_.at(index); }
    RedisSentinel& sentinel(std::size_t index) { return *sentinels_.at(index); }
    /// The one that the sentinels agree on; waits until they do, and it says so itself.
    RedisServer& master();
    /// Another one than this is the master, as all sentinels that run say.
    void await_failover_from(const RedisServer& old);
    /// A planned one.
    void fail_over();
    /// All are there and in step again.
    void await_whole();
    void flush() { master().flush(); }

private:
    RedisServer* agreed_master();
    std::string addresses() const;

    const SentinelOptions options_;
    std::vector<std::unique_ptr<RedisServer>> servers_;
    std::vector<std::unique_ptr<RedisSentinel>> sentinels_;
};

}  // namespace holdfast::test
