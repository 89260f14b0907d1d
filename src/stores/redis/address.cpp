#include "stores/redis/address.hpp"

#include <charconv>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::redis {

namespace {

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

Address::Reach reach_of(const StoreUrl& url) {
    if (url.scheme.starts_with("rediss")) return Address::Reach::tls;
    if (url.scheme == "redis+unix") return Address::Reach::unix_socket;
    return Address::Reach::tcp;
}

/// `path` is "/3", or nothing.
std::uint32_t database_of(const StoreUrl& url, std::string_view path) {
    if (path.empty() || path == "/") return 0;
    std::uint32_t number = 0;
    const char* const end = path.data() + path.size();
    const auto [stopped, error] = std::from_chars(path.data() + 1, end, number);
    if (error != std::errc{} || stopped != end) {
        refuse(url, "what stands for the database is no number; write it as /0");
    }
    return number;
}

void read_host(const StoreUrl& url, Address& address) {
    if (url.hosts.size() != 1) {
        refuse(url, url.hosts.empty()
                        ? "it names no host; write it as " + url.scheme + "://127.0.0.1:6379"
                        : "it names several hosts; this scheme is for one server");
    }
    address.host = url.hosts[0].name;
    address.port = url.hosts[0].port.value_or(address.port);
    address.database = database_of(url, url.path);
}

void read_socket(const StoreUrl& url, Address& address) {
    // What sockaddr_un has room for.
    constexpr std::size_t longest_path = 107;
    if (!url.hosts.empty() || url.path.size() < 2) {
        refuse(url, "it names no socket; write it as redis+unix:///path/of/the/socket");
    }
    if (url.path.size() > longest_path || url.path.find('\0') != std::string::npos) {
        refuse(url, "the socket's path is longer than 107 bytes, or has a NUL in it");
    }
    address.host = url.path;
}

/// Who enters, how, and how long is waited for it.
void read_entrance(const StoreUrl& url, Address& address) {
    if (address.reach == Address::Reach::tls) net::read_tls(url, address);
    net::read_timeouts(url, address);
    address.replicas = replicas_of(url);
    address.user = url.user;
    address.password = url.password;
    if (const auto path = url.text("password_file")) {
        address.password = net::password_from(url, *path);
    }
    if (!address.user.empty() && address.password.empty()) {
        refuse(url, "it names a user without a password; give one, or a password_file");
    }
}

Address node_of(const StoreUrl& url) {
    Address node;
    node.reach = reach_of(url);
    read_entrance(url, node);
    return node;
}

/// Each host of the URL, entered like `way`.
std::vector<Address> all_at(const StoreUrl& url, const Address& way) {
    if (url.hosts.empty()) {
        refuse(url, "it names no host; write it as " + url.scheme + "://host1,host2");
    }
    std::vector<Address> all;
    for (const Host& host : url.hosts) all.push_back(way.at(host));
    return all;
}

/// The sentinels have users of their own.
Address sentinel_of(const StoreUrl& url, Address node) {
    constexpr std::uint16_t usual_port = 26379;
    node.kind = "sentinel";
    node.port = usual_port;
    node.database = 0;
    node.user = url.text("sentinel_user").value_or("");
    node.password.clear();
    if (const auto path = url.text("sentinel_password_file")) {
        StoreUrl without_password = url;
        without_password.password.clear();
        node.password = net::password_from(without_password, *path);
    }
    if (!node.user.empty() && node.password.empty()) {
        refuse(url, "it names a sentinel_user without a sentinel_password_file; give both");
    }
    return node;
}

/// "/master", or "/master/3".
Servers sentinels_of(const StoreUrl& url) {
    Servers servers{.kind = Servers::Kind::sentinel, .node = node_of(url)};
    const std::string path = url.path.empty() ? "" : url.path.substr(1);
    servers.master = path.substr(0, path.find('/'));
    if (servers.master.empty()) {
        refuse(url, "it names no master; write it as " + url.scheme + "://host1,host2/mymaster");
    }
    servers.node.database = database_of(url, path.substr(servers.master.size()));
    servers.named = all_at(url, sentinel_of(url, servers.node));
    return servers;
}

Servers cluster_of(const StoreUrl& url) {
    if (!url.path.empty() && url.path != "/") {
        refuse(url, "a cluster has one database; end the URL behind its hosts");
    }
    Servers servers{.kind = Servers::Kind::cluster, .node = node_of(url)};
    servers.named = all_at(url, servers.node);
    return servers;
}

}  // namespace

Address Address::at(const Host& place) const {
    Address address = *this;
    address.host = place.name;
    address.port = place.port.value_or(port);
    return address;
}

std::string Servers::shown() const {
    if (kind == Kind::single) return named.front().shown();
    std::string hosts;
    for (const Address& one : named) {
        hosts += (hosts.empty() ? "" : ",") + one.shown().substr(one.kind.size() + 1);
    }
    return kind == Kind::sentinel ? "redis " + master + " by sentinels " + hosts
                                  : "redis cluster " + hosts;
}

Servers servers_of(const StoreUrl& url) {
    if (url.scheme.ends_with("+sentinel")) return sentinels_of(url);
    if (url.scheme.ends_with("+cluster")) return cluster_of(url);
    Servers servers{.node = address_of(url)};
    servers.named.push_back(servers.node);
    return servers;
}

Address address_of(const StoreUrl& url) {
    Address address;
    address.reach = reach_of(url);
    if (address.reach == Address::Reach::unix_socket) {
        read_socket(url, address);
    } else {
        read_host(url, address);
    }
    read_entrance(url, address);
    return address;
}

}  // namespace holdfast::inline v0::redis
