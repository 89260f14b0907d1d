#include "stores/memcached/servers.hpp"

#include <algorithm>

namespace holdfast::inline v0::memcached {

namespace {

/// The server parts them at a space, and ends them at any other.
bool has_white_space(const std::string& text) {
    return std::ranges::any_of(text, [](char c) { return c == '\0' || (c >= '\t' && c <= ' '); });
}

bool names_one_twice(const StoreUrl& url) {
    for (auto one = url.hosts.begin(); one != url.hosts.end(); ++one) {
        if (std::find(one + 1, url.hosts.end(), *one) != url.hosts.end()) return true;
    }
    return false;
}

}  // namespace

Servers servers_of(const StoreUrl& url) {
    Servers servers;
    servers.request_timeout = servers.connect_timeout;
    net::read_servers(url, "memcached", 11211, servers);
    for (net::Address& server : servers.servers) server.is_one_server = true;
    if (names_one_twice(url)) {
        net::refuse(url, "it names a server twice; each has its part of the names once");
    }
    servers.user = net::user_of(url);
    if (!url.path.empty() && url.path != "/") {
        net::refuse(url, "memcached knows no databases; end the URL behind its hosts");
    }
    if (has_white_space(servers.user.name) || has_white_space(servers.user.password)) {
        net::refuse(url, "memcached takes no user and no password with a space in it");
    }
    return servers;
}

}  // namespace holdfast::inline v0::memcached
