#include "stores/net/address.hpp"

#include <fstream>

#include <holdfast/error.hpp>

#include "port/clock.hpp"

namespace holdfast::inline v0::net {

std::string Address::shown() const {
    if (reach == Reach::unix_socket) return kind + " " + host;
    const bool bare = host.find(':') == std::string::npos;
    return kind + " " + (bare ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::size_t ServerList::any() const {
    return static_cast<std::size_t>(BootClock::now().time_since_epoch().count()) % servers.size();
}

std::string ServerList::shown() const {
    std::string text = servers.front().shown();
    for (std::size_t i = 1; i < servers.size(); ++i) {
        const std::string one = servers[i].shown();
        text += ',' + one.substr(one.find(' ') + 1);
    }
    return text;
}

void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

void read_servers(const StoreUrl& url, const std::string& kind, std::uint16_t port,
                  ServerList& list) {
    if (url.hosts.empty()) {
        const std::string usual = ":" + std::to_string(port);
        refuse(url, "it names no host; write it as " + url.scheme + "://h1" + usual + ",h2" +
                        usual + ",h3" + usual);
    }
    list.connect_timeout = url.duration("connect_timeout").value_or(list.connect_timeout);
    list.request_timeout = url.duration("request_timeout").value_or(list.request_timeout);
    for (const Host& host : url.hosts) {
        Address address{.kind = kind, .host = host.name, .port = host.port.value_or(port)};
        address.connect_timeout = list.connect_timeout;
        address.request_timeout = list.request_timeout;
        if (url.scheme == kind + "s") {
            address.reach = Address::Reach::tls;
            read_tls(url, address);
        }
        list.servers.push_back(std::move(address));
    }
}

User user_of(const StoreUrl& url) {
    User user{.name = url.user, .password = url.password};
    if (const auto path = url.text("password_file")) user.password = password_from(url, *path);
    if (user.name.empty() != user.password.empty()) {
        refuse(url, "it gives a user without a password, or a password without a user; give both");
    }
    return user;
}

std::string password_from(const StoreUrl& url, const std::string& path) {
    if (!url.password.empty()) {
        refuse(url, "a password and a password_file are given; leave one of them out");
    }
    std::ifstream file(path);
    std::string password;
    if (!file || (!std::getline(file, password) && !file.eof())) {
        refuse(url, "the password_file '" + path + "' cannot be read; check its name and rights");
    }
    if (!password.empty() && password.back() == '\r') password.pop_back();
    if (password.empty()) {
        refuse(url,
               "the password_file '" + path + "' is empty; put the password on its first line");
    }
    return password;
}

void read_tls(const StoreUrl& url, Address& address) {
    address.tls_ca = url.text("tls_ca").value_or("");
    address.tls_cert = url.text("tls_cert").value_or("");
    address.tls_key = url.text("tls_key").value_or(address.tls_cert);
    if (address.tls_cert.empty() && !address.tls_key.empty()) {
        refuse(url, "it gives a tls_key without a tls_cert; give both");
    }
}

void read_timeouts(const StoreUrl& url, Address& address) {
    address.connect_timeout = url.duration("connect_timeout").value_or(address.connect_timeout);
    address.request_timeout = url.duration("request_timeout").value_or(address.request_timeout);
}

}  // namespace holdfast::inline v0::net
