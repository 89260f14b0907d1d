#include "stores/memcached/continuum.hpp"

#include <gtest/gtest.h>
#include <libmemcached/memcached.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::memcached {
namespace {

std::vector<net::Address> servers_called(const std::vector<std::string>& names,
                                         std::uint16_t port = 11211) {
    std::vector<net::Address> servers;
    for (const auto& name : names) servers.push_back({.host = name, .port = port});
    return servers;
}

/// libmemcached's choice, by MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED.
class Theirs {
public:
    explicit Theirs(const std::vector<net::Address>& servers) {
        memcached_behavior_set(memory_.get(), MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
        for (const auto& server : servers) {
            memcached_server_add(memory_.get(), server.host.c_str(), server.port);
        }
    }
    std::size_t server_of(const std::string& key) const {
        return memcached_generate_hash(memory_.get(), key.data(), key.size());
    }

private:
    std::unique_ptr<memcached_st, decltype(&memcached_free)> memory_{memcached_create(nullptr),
                                                                     memcached_free};
};

void expect_same_choices(const std::vector<net::Address>& servers) {
    const Continuum ours(servers);
    const Theirs theirs(servers);
    for (int i = 0; i < 2000; ++i) {
        const std::string key = "holdfast/orders/" + std::to_string(i);
        ASSERT_EQ(ours.server_of(key), theirs.server_of(key))
            << key << " of " << servers.size() << " servers";
    }
}

TEST(AContinuum, ChoosesAsLibmemcachedDoes) {
    std::vector<std::string> names;
    for (int count = 1; count <= 40; ++count) {
        names.push_back("cache" + std::to_string(count) + ".example");
        expect_same_choices(servers_called(names));
    }
}

TEST(AContinuum, ChoosesAsLibmemcachedDoesByAddressAndPort) {
    expect_same_choices(servers_called({"10.0.1.1", "10.0.1.2", "10.0.1.3"}, 11300));
    std::vector<net::Address> ports;
    for (std::uint16_t port = 11209; port < 11214; ++port) {
        ports.push_back({.host = "127.0.0.1", .port = port});
    }
    expect_same_choices(ports);
}

TEST(AContinuum, ChoosesAsLibmemcachedDoesForAnyBytes) {
    const auto servers = servers_called({"a", "b", "c"});
    const Continuum ours(servers);
    const Theirs theirs(servers);
    for (int byte = 1; byte < 256; ++byte) {
        const std::string key(static_cast<std::size_t>(byte % 7 + 1), static_cast<char>(byte));
        EXPECT_EQ(ours.server_of(key), theirs.server_of(key)) << byte;
    }
}

TEST(AContinuum, KeepsMostNamesWhereTheyAreWhenAServerIsAdded) {
    const Continuum three(servers_called({"a", "b", "c"}));
    const Continuum four(servers_called({"a", "b", "c", "d"}));
    int moved = 0;
    std::map<std::size_t, int> shares;
    for (int i = 0; i < 4000; ++i) {
        const std::string key = std::to_string(i);
        ++shares[four.server_of(key)];
        if (three.server_of(key) == four.server_of(key)) continue;
        ++moved;
        EXPECT_EQ(four.server_of(key), 3U) << "to the new one alone";
    }
    EXPECT_LT(moved, 1600);
    for (const auto& [server, share] : shares) EXPECT_GT(share, 500) << server;
}

}  // namespace
}  // namespace holdfast::memcached
