#include "stores/redis/address.hpp"

#include <charconv>

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

}  // namespace

Address address_of(const StoreUrl& url) {
    Address address;
    address.reach = reach_of(url);
    if (address.reach == Address::Reach::unix_socket) {
        read_socket(url, address);
    } else {
        read_host(url, address);
    }
    if (address.reach == Address::Reach::tls) net::read_tls(url, address);
    net::read_timeouts(url, address);
    address.user = url.user;
    address.password = url.password;
    if (const auto path = url.text("password_file")) {
        address.password = net::password_from(url, *path);
    }
    if (!address.user.empty() && address.password.empty()) {
        refuse(url, "it names a user without a password; give one, or a password_file");
    }
    return address;
}

}  // namespace holdfast::inline v0::redis
