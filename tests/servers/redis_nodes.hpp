#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "servers/redis_server.hpp"

namespace holdfast::test {

/// Redis servers that know nothing of each other, marked as a set that is new: see `holdfast init`.
class RedisNodes {
public:
    explicit RedisNodes(std::size_t count = 5, const RedisOptions& options = {});

    std::size_t size() const { return servers_.size(); }
    /// "redlock://h1,h2,h3?set=test": one set by whatever ports.
    std::string url(const std::string& parameters = "") const;
    /// The same, by other ports: those of proxies, say.
    static std::string url_at(const std::vector<int>& ports, const std::string& parameters = "");
    RedisServer& node(std::size_t index) { return *servers_.at(index); }

    /// So that it counts at once.
    void mark(std::size_t index) const;
    /// All that are there and answer have nothing but their marks.
    void empty() const;

private:
    std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace holdfast::test
