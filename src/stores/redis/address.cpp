#include "stores/redis/address.hpp"

#include <charconv>
#include <fstream>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::redis {

namespace {

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

Address::Reach reach_of(const StoreUrl& url) {
    if (url.scheme == "rediss") return Address::Reach::tls;
    if (url.scheme == "redis+unix") return Address::Reach::unix_socket;
    return Address::Reach::tcp;
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

std::uint32_t database_of(const StoreUrl& url) {
    if (url.path.empty() || url.path == "/") return 0;
    std::uint32_t number = 0;
    const char* const end = url.path.data() + url.path.size();
    const auto [stopped, error] = std::from_chars(url.path.data() + 1, end, number);
    if (error != std::errc{} || stopped != end) {
        refuse(url, "what follows the host is no number of a database; write it as /0");
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
    address.database = database_of(url);
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

void read_tls(const StoreUrl& url, Address& address) {
    address.tls_ca = url.text("tls_ca").value_or("");
    address.tls_cert = url.text("tls_cert").value_or("");
    address.tls_key = url.text("tls_key").value_or(address.tls_cert);
    if (address.tls_cert.empty() && !address.tls_key.empty()) {
        refuse(url, "it gives a tls_key without a tls_cert; give both");
    }
}

}  // namespace

std::string Address::shown() const {
    if (reach == Reach::unix_socket) return "redis " + host;
    const bool bare = host.find(':') == std::string::npos;
    return "redis " + (bare ? host : "[" + host + "]") + ":" + std::to_string(port);
}

Address address_of(const StoreUrl& url) {
    Address address{.reach = reach_of(url)};
    if (address.reach == Address::Reach::unix_socket) {
        read_socket(url, address);
    } else {
        read_host(url, address);
    }
    if (address.reach == Address::Reach::tls) read_tls(url, address);
    address.user = url.user;
    address.password = url.password;
    if (const auto path = url.text("password_file")) address.password = password_from(url, *path);
    if (!address.user.empty() && address.password.empty()) {
        refuse(url, "it names a user without a password; give one, or a password_file");
    }
    address.connect_timeout = url.duration("connect_timeout").value_or(address.connect_timeout);
    address.request_timeout = url.duration("request_timeout").value_or(address.request_timeout);
    return address;
}

}  // namespace holdfast::inline v0::redis
