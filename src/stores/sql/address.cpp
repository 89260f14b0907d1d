#include "stores/sql/address.hpp"

#include <cstdlib>

#include <holdfast/error.hpp>

#include "stores/net/socket.hpp"

namespace holdfast::inline v0::sql {

namespace {

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

std::string form_of(const StoreUrl& url, const Defaults& defaults) {
    return url.scheme + "://user@127.0.0.1:" + std::to_string(defaults.port) + "/database";
}

std::string database_of(const StoreUrl& url, const Defaults& defaults) {
    std::string name = url.path.empty() ? "" : url.path.substr(1);
    if (name.empty() || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
        refuse(url, "it names no database; write it as " + form_of(url, defaults));
    }
    return name;
}

/// With any of the parameters for certificates, or tls=on.
net::Address::Reach reach_of(const StoreUrl& url) {
    const std::string tls = url.text("tls").value_or("");
    if (!tls.empty() && tls != "on" && tls != "off") {
        refuse(url, "the parameter tls is '" + tls + "'; give on or off");
    }
    const bool has_certificates = url.text("tls_ca") || url.text("tls_cert") || url.text("tls_key");
    if (has_certificates && tls == "off") refuse(url, "it names certificates, and says tls=off");
    return tls == "on" || has_certificates ? net::Address::Reach::tls : net::Address::Reach::tcp;
}

std::string password_of(const StoreUrl& url, const Defaults& defaults) {
    if (const auto path = url.text("password_file")) return net::password_from(url, *path);
    if (!url.password.empty()) return url.password;
    const char* const set = std::getenv(defaults.password_variable.c_str());
    return set == nullptr ? "" : set;
}

}  // namespace

Address address_of(const StoreUrl& url, const Defaults& defaults) {
    if (url.hosts.size() != 1) {
        refuse(url, url.hosts.empty() ? "it names no host; write it as " + form_of(url, defaults)
                                      : "it names several hosts; this scheme is for one server");
    }
    if (url.user.empty()) refuse(url, "it names no user; write it as " + form_of(url, defaults));
    Address address;
    address.kind = defaults.kind;
    address.host = url.hosts[0].name;
    address.port = url.hosts[0].port.value_or(defaults.port);
    address.database = database_of(url, defaults);
    address.user = url.user;
    address.password = password_of(url, defaults);
    address.reach = reach_of(url);
    if (address.reach == net::Address::Reach::tls) {
        net::read_tls(url, address);
        net::check_certificates(address);
    }
    net::read_timeouts(url, address);
    return address;
}

}  // namespace holdfast::inline v0::sql
