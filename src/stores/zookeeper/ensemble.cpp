#include "stores/zookeeper/ensemble.hpp"

#include <holdfast/error.hpp>

#include "stores/net/password_file.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

std::string credentials_of(const StoreUrl& url) {
    const auto given = url.text("auth");
    std::string password = url.password;
    if (const auto path = url.text("password_file")) password = net::password_from(url, *path);
    if (given && (!url.user.empty() || !password.empty())) {
        refuse(url, "auth is given, and a user or a password beside it; leave one of them out");
    }
    if (given) {
        if (given->find(':') == std::string::npos) {
            refuse(url, "the parameter auth is not of the form user:password");
        }
        return *given;
    }
    if (url.user.empty() != password.empty()) {
        refuse(url, "it gives a user without a password, or a password without a user; give both");
    }
    return url.user.empty() ? "" : url.user + ":" + password;
}

std::string chroot_of(const StoreUrl& url) {
    std::string path = url.path;
    while (path.ends_with('/')) path.pop_back();
    const bool broken = path.find("//") != std::string::npos ||
                        (path + '/').find("/./") != path.npos ||
                        (path + '/').find("/../") != path.npos || path.find('\0') != path.npos;
    if (broken) refuse(url, "what follows the hosts is no node's path; write it as /app/locks");
    return path;
}

net::Address server_of(const StoreUrl& url, const Host& host, const Ensemble& ensemble) {
    net::Address address{.kind = "zookeeper", .host = host.name, .port = host.port.value_or(2181)};
    address.connect_timeout = ensemble.connect_timeout;
    address.request_timeout = ensemble.request_timeout;
    if (url.scheme == "zookeepers") {
        address.reach = net::Address::Reach::tls;
        net::read_tls(url, address);
    }
    return address;
}

}  // namespace

std::string Ensemble::shown() const {
    std::string text = servers.front().shown();
    for (std::size_t i = 1; i < servers.size(); ++i) {
        const std::string one = servers[i].shown();
        text += ',' + one.substr(one.find(' ') + 1);
    }
    return text + chroot;
}

Ensemble ensemble_of(const StoreUrl& url) {
    if (url.hosts.empty()) {
        refuse(url, "it names no host; write it as " + url.scheme + "://h1:2181,h2:2181,h3:2181");
    }
    if (url.prefix().starts_with('/')) {
        refuse(url,
               "a prefix begins with no slash: the path has one by itself; with prefix= the "
               "name orders is the path /orders");
    }
    Ensemble ensemble;
    ensemble.credentials = credentials_of(url);
    ensemble.chroot = chroot_of(url);
    ensemble.tick = url.duration("tick").value_or(ensemble.tick);
    ensemble.connect_timeout = url.duration("connect_timeout").value_or(ensemble.connect_timeout);
    ensemble.request_timeout = url.duration("request_timeout").value_or(ensemble.request_timeout);
    for (const Host& host : url.hosts) {
        ensemble.servers.push_back(server_of(url, host, ensemble));
    }
    return ensemble;
}

}  // namespace holdfast::inline v0::zookeeper
