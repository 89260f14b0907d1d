#include "stores/etcd/cluster.hpp"

#include <holdfast/error.hpp>

#include "stores/net/password_file.hpp"

namespace holdfast::inline v0::etcd {

namespace {

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

void read_user(const StoreUrl& url, Cluster& cluster) {
    cluster.user = url.user;
    cluster.password = url.password;
    if (const auto path = url.text("password_file")) {
        cluster.password = net::password_from(url, *path);
    }
    if (cluster.user.empty() != cluster.password.empty()) {
        refuse(url, "it gives a user without a password, or a password without a user; give both");
    }
}

net::Address member_of(const StoreUrl& url, const Host& host, const Cluster& cluster) {
    net::Address address{.kind = "etcd", .host = host.name, .port = host.port.value_or(2379)};
    address.connect_timeout = cluster.connect_timeout;
    address.request_timeout = cluster.request_timeout;
    if (url.scheme == "etcds") {
        address.reach = net::Address::Reach::tls;
        net::read_tls(url, address);
    }
    return address;
}

}  // namespace

std::string Cluster::shown() const {
    std::string text = members.front().shown();
    for (std::size_t i = 1; i < members.size(); ++i) {
        const std::string one = members[i].shown();
        text += ',' + one.substr(one.find(' ') + 1);
    }
    return text;
}

Cluster cluster_of(const StoreUrl& url) {
    if (url.hosts.empty()) {
        refuse(url, "it names no host; write it as " + url.scheme + "://h1:2379,h2:2379,h3:2379");
    }
    if (!url.path.empty() && url.path != "/") {
        refuse(url,
               "a path after the hosts means nothing to etcd; what is to stand before every "
               "name is the parameter prefix");
    }
    Cluster cluster;
    read_user(url, cluster);
    cluster.connect_timeout = url.duration("connect_timeout").value_or(cluster.connect_timeout);
    cluster.request_timeout = url.duration("request_timeout").value_or(cluster.request_timeout);
    for (const Host& host : url.hosts) cluster.members.push_back(member_of(url, host, cluster));
    return cluster;
}

}  // namespace holdfast::inline v0::etcd
