#include "stores/zookeeper/ensemble.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using net::refuse;

std::string credentials_of(const StoreUrl& url) {
    const auto given = url.text("auth");
    if (!given) {
        const auto [name, password] = net::user_of(url);
        return name.empty() ? "" : name + ":" + password;
    }
    if (!url.user.empty() || !url.password.empty() || url.text("password_file")) {
        refuse(url, "auth is given, and a user or a password beside it; leave one of them out");
    }
    if (given->find(':') == std::string::npos) {
        refuse(url, "the parameter auth is not of the form user:password");
    }
    return *given;
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

}  // namespace

Ensemble ensemble_of(const StoreUrl& url) {
    if (url.prefix().starts_with('/')) {
        refuse(url,
               "a prefix begins with no slash: the path has one by itself; with prefix= the "
               "name orders is the path /orders");
    }
    Ensemble ensemble;
    ensemble.credentials = credentials_of(url);
    ensemble.chroot = chroot_of(url);
    ensemble.tick = url.duration("tick").value_or(ensemble.tick);
    net::read_servers(url, "zookeeper", 2181, ensemble);
    return ensemble;
}

}  // namespace holdfast::inline v0::zookeeper
