#include "stores/redlock/nodes.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::redlock {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t fewest_nodes = 3;
constexpr std::size_t most_nodes = 9;
/// A shorter one would be over before a node that is restarted can be reached again.
constexpr std::chrono::milliseconds shortest_max_lease = 1s;
constexpr std::chrono::milliseconds longest_max_lease = 1h;

/// "127.0.0.1:6379"
std::string place_of(const redis::Address& address) {
    return address.shown().substr(address.kind.size() + 1);
}

void check_number(const StoreUrl& url) {
    const std::size_t count = url.hosts.size();
    if (count < fewest_nodes || count > most_nodes) {
        net::refuse(url, "it names " + std::to_string(count) +
                             " nodes; name three to nine that are independent of each other, as " +
                             url.scheme + "://h1,h2,h3");
    }
    if (count % 2 == 0) {
        const std::string others = std::to_string(count - 1);
        net::refuse(url, "it names an even number of nodes (" + std::to_string(count) +
                             "): a majority of them outlives no more failures than one of " +
                             others + " does; name one more, or one fewer");
    }
}

void check_that_all_differ(const StoreUrl& url, const std::vector<redis::Address>& addresses) {
    for (auto one = addresses.begin(); one != addresses.end(); ++one) {
        const auto shown = one->shown();
        const auto same = [&](const redis::Address& other) { return other.shown() == shown; };
        if (std::none_of(addresses.begin(), one, same)) continue;
        net::refuse(url, "it names " + shown + " twice; each node has one vote");
    }
}

std::chrono::milliseconds max_lease_of(const StoreUrl& url) {
    const auto given = url.duration("max_lease").value_or(Terms{}.max_lease);
    if (given < shortest_max_lease || given > longest_max_lease) {
        net::refuse(url, "the parameter max_lease is not from 1s to 1h");
    }
    return given;
}

/// By FNV-1a. Named by its addresses, or by the parameter where these differ from client to client.
std::string set_of(const StoreUrl& url, const std::vector<redis::Address>& addresses) {
    std::vector<std::string> names;
    names.reserve(addresses.size());
    for (const redis::Address& one : addresses) names.push_back(place_of(one));
    std::ranges::sort(names);
    if (const auto name = url.text("set")) names = {"set", *name};
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::string& name : names) {
        for (const char c : name + ',') {
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        }
    }
    std::ostringstream digits;
    digits << std::hex << hash;
    return digits.str();
}

/// As redis:// reads what stands for one server: all nodes are entered alike.
redis::Address way_into(const StoreUrl& url) {
    StoreUrl one = url;
    one.scheme = url.scheme == "redlocks" ? "rediss" : "redis";
    one.hosts.resize(1);
    return redis::address_of(one);
}

}  // namespace

std::string Nodes::shown() const {
    std::string text = "redlock";
    for (const redis::Address& one : addresses) {
        text += (&one == addresses.data() ? " " : ",") + place_of(one);
    }
    return text;
}

Nodes nodes_of(const StoreUrl& url) {
    check_number(url);
    Nodes nodes;
    const redis::Address way = way_into(url);
    for (const Host& host : url.hosts) {
        redis::Address address = way;
        address.host = host.name;
        address.port = host.port.value_or(redis::Address().port);
        // Behind a name with several addresses each client might find another server.
        address.is_one_server = true;
        nodes.addresses.push_back(std::move(address));
    }
    check_that_all_differ(url, nodes.addresses);
    nodes.set = set_of(url, nodes.addresses);
    nodes.terms = {.nodes = nodes.addresses.size(), .max_lease = max_lease_of(url)};
    return nodes;
}

}  // namespace holdfast::inline v0::redlock
