#include "servers/redis_nodes.hpp"

#include <stdexcept>

namespace holdfast::test {

namespace {

std::string run_of(const RedisServer& server) {
    const std::string info = server.command({"INFO", "server"});
    const std::string before = "run_id:";
    const auto found = info.find(before);
    if (found == std::string::npos) throw std::runtime_error("no run_id in: " + info);
    constexpr std::size_t digits = 40;
    return info.substr(found + before.size(), digits);
}

}  // namespace

RedisNodes::RedisNodes(std::size_t count, const RedisOptions& options) {
    for (std::size_t i = 0; i < count; ++i) {
        servers_.push_back(std::make_unique<RedisServer>(options));
        mark(i);
    }
}

std::string RedisNodes::url_at(const std::vector<int>& ports, const std::string& parameters) {
    std::string hosts;
    for (const int port : ports) {
        hosts += (hosts.empty() ? "" : ",") + std::string("127.0.0.1:") + std::to_string(port);
    }
    return "redlock://" + hosts + (parameters.empty() ? "?" : parameters + "&") + "set=test";
}

std::string RedisNodes::url(const std::string& parameters) const {
    std::vector<int> ports;
    for (const auto& server : servers_) ports.push_back(server->port());
    return url_at(ports, parameters);
}

void RedisNodes::mark(std::size_t index) const {
    const RedisServer& server = *servers_.at(index);
    server.command({"SET", "holdfast/=run", run_of(server) + " 0"});
}

void RedisNodes::empty() const {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        servers_[i]->flush();
        mark(i);
    }
}

}  // namespace holdfast::test
