#include "servers/redis_sentinels.hpp"

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "servers/texts.hpp"
#include "support/await.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

/// Some machines' failovers take several of their timeouts.
constexpr auto failover_limit = 60s;

RedisOptions options_of(const SentinelOptions& options, const RedisServer* master) {
    RedisOptions own{.password = options.password,
                     .settings = {"repl-diskless-sync-delay 0", "repl-ping-replica-period 1"}};
    if (!options.password.empty()) own.settings.push_back("masterauth " + options.password);
    if (master != nullptr) {
        own.settings.push_back("replicaof 127.0.0.1 " + std::to_string(master->port()));
    }
    return own;
}

}  // namespace

RedisSentinel::RedisSentinel(int master_port, SentinelOptions options)
    : ServerProcess("redis-sentinel"), master_port_(master_port), options_(std::move(options)) {
    make_and_start();
    await_serving();
}

void RedisSentinel::make_data() const {
    std::filesystem::create_directory(file("data"));
    const std::string name = RedisSentinels::master_name;
    std::ofstream out(file("sentinel.conf"));
    out << "bind 127.0.0.1\nport " << port() << "\nlogfile " << file("log").string() << "\n"
        << "dir " << file("data").string() << "\n"
        << "sentinel monitor " << name << " 127.0.0.1 " << master_port_ << " 2\n"
        << "sentinel down-after-milliseconds " << name << " 500\n"
        << "sentinel failover-timeout " << name << " 5000\n";
    if (!options_.password.empty()) {
        out << "sentinel auth-pass " << name << " " << options_.password << "\n";
    }
    if (!options_.sentinel_password.empty()) {
        out << "requirepass " << options_.sentinel_password << "\n"
            << "sentinel sentinel-pass " << options_.sentinel_password << "\n";
    }
    if (!out.flush()) throw std::system_error(errno, std::generic_category(), "sentinel.conf");
}

std::vector<std::string> RedisSentinel::command_line() const {
    return {"redis-server", file("sentinel.conf").string(), "--sentinel"};
}

std::string RedisSentinel::url_through(int port) const {
    return "redis+sentinel://127.0.0.1:" + std::to_string(port) + "/" + RedisSentinels::master_name;
}

std::string RedisSentinel::command(const std::vector<std::string>& words) const {
    auto answer = ask_resp(port(), words, options_.sentinel_password);
    if (!answer) throw std::runtime_error("a sentinel gave no answer to " + words.at(0));
    return *std::move(answer);
}

bool RedisSentinel::serves() const {
    return ask_resp(port(), {"PING"}, options_.sentinel_password) == "PONG";
}

int RedisSentinel::master_port() const {
    const auto answer =
        ask_resp(port(), {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", RedisSentinels::master_name},
                 options_.sentinel_password);
    const auto found = answer.value_or("").find(", ");
    return found == std::string::npos ? 0 : std::stoi(answer->substr(found + 2));
}

RedisSentinels::RedisSentinels(SentinelOptions options) : options_(std::move(options)) {
    for (std::size_t i = 0; i < size; ++i) {
        const RedisServer* const master = i == 0 ? nullptr : servers_.front().get();
        servers_.push_back(std::make_unique<RedisServer>(options_of(options_, master)));
    }
    for (std::size_t i = 0; i < size; ++i) {
        sentinels_.push_back(std::make_unique<RedisSentinel>(servers_.front()->port(), options_));
    }
    await_whole();
}

std::string RedisSentinels::addresses() const {
    std::string all;
    for (const auto& sentinel : sentinels_) all += (all.empty() ? "" : ",") + sentinel->address();
    return all;
}

std::string RedisSentinels::url(const std::string& parameters) const {
    return url_at(addresses(), parameters);
}

std::string RedisSentinels::url_at(const std::string& addresses,
                                   const std::string& parameters) const {
    const std::string user = options_.password.empty() ? "" : ":" + options_.password + "@";
    return "redis+sentinel://" + user + addresses + "/" + master_name +
           (parameters.empty() ? "" : "?" + parameters);
}

RedisServer* RedisSentinels::agreed_master() {
    int port = 0;
    for (const auto& sentinel : sentinels_) {
        if (!sentinel->runs()) continue;
        const int named = sentinel->master_port();
        if (named == 0 || (port != 0 && named != port)) return nullptr;
        port = named;
    }
    for (const auto& server : servers_) {
        if (server->port() == port && server->runs() && server->is_master()) {
            return server.get();
        }
    }
    return nullptr;
}

RedisServer& RedisSentinels::master() {
    RedisServer* found = nullptr;
    const auto agree = [&] { return (found = agreed_master()) != nullptr; };
    if (!await(agree, failover_limit)) throw std::runtime_error("the sentinels do not agree");
    return *found;
}

void RedisSentinels::await_failover_from(const RedisServer& old) {
    const auto moved = [&] {
        for (const auto& sentinel : sentinels_) {
            if (!sentinel->runs()) continue;
            const int port = sentinel->master_port();
            if (port == 0 || port == old.port()) return false;
        }
        return true;
    };
    if (!await(moved, failover_limit)) throw std::runtime_error("there was no failover");
}

void RedisSentinels::fail_over() {
    RedisServer& old = master();
    const auto begun = [&] {
        return sentinels_.front()->command({"SENTINEL", "FAILOVER", master_name}) == "OK";
    };
    if (!await(begun, failover_limit)) throw std::runtime_error("no failover was begun");
    await_failover_from(old);
}

void RedisSentinels::await_whole() {
    const std::string others = std::to_string(size - 1);
    const auto is_whole = [&] {
        RedisServer* const master = agreed_master();
        if (master == nullptr) return false;
        const std::string replication = master->command({"INFO", "replication"});
        for (std::size_t i = 0; i + 1 < size; ++i) {
            const auto at = replication.find("slave" + std::to_string(i) + ":");
            if (at == std::string::npos) return false;
            const auto line = replication.substr(at, replication.find('\r', at) - at);
            if (line.find("state=online") == std::string::npos) return false;
        }
        for (const auto& sentinel : sentinels_) {
            const std::string known = sentinel->command({"SENTINEL", "MASTER", master_name});
            if (known.find("num-slaves, " + others) == std::string::npos ||
                known.find("num-other-sentinels, " + others) == std::string::npos ||
                known.find("flags, master, ") == std::string::npos) {
                return false;
            }
        }
        return true;
    };
    if (!await(is_whole, failover_limit)) {
        throw std::runtime_error("master, replicas and sentinels do not find each other: " +
                                 end_of(sentinels_.front()->log()));
    }
}

}  // namespace holdfast::test
