#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "port/store_url.hpp"

namespace holdfast::inline v0::net {

/// Where a server is, how it is reached, and how long to wait for it.
struct Address {
    enum class Reach : std::uint8_t { tcp, tls, unix_socket };

    std::string kind = {};  ///< of server, for sentences: "redis"
    Reach reach = Reach::tcp;
    std::string host = {};  ///< or the socket's path
    std::uint16_t port = 0;
    /// It alone has what is kept there: where its name has several addresses of one kind, they are
    /// several servers, of which each client may reach another one. Then it is refused.
    bool is_one_server = false;
    std::string tls_ca = {};  ///< empty: the machine's own
    std::string tls_cert = {};
    std::string tls_key = {};
    std::chrono::milliseconds connect_timeout{3000};
    std::chrono::milliseconds request_timeout{3000};

    /// For sentences: "redis 127.0.0.1:6379".
    std::string shown() const;
};

/// The servers of one store, of which one after the other is asked.
struct ServerList {
    std::vector<Address> servers = {};
    /// For a connection, and for a server that does not answer before another one is asked.
    std::chrono::milliseconds connect_timeout{3'000};
    /// Longer than an election takes.
    std::chrono::milliseconds request_timeout{10'000};

    /// One to begin with: clients spread over them.
    std::size_t any() const;
    /// For sentences: "etcd 127.0.0.1:2379,127.0.0.1:2479".
    std::string shown() const;
};

/// Throws Error with errc::bad_configuration: "URL: sentence".
[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence);

/// The servers that it names, of that kind, which is also the scheme; by TLS with an s behind it.
/// All of this throws as refuse() does.
void read_servers(const StoreUrl& url, const std::string& kind, std::uint16_t port,
                  ServerList& list);
/// Who asks, and his password, by itself or in a file; both empty: nobody in particular.
struct User {
    std::string name;
    std::string password;
};
User user_of(const StoreUrl& url);
/// The first line of the file. Refused when it cannot be read or is empty, or when the URL has a
/// password too.
std::string password_from(const StoreUrl& url, const std::string& path);
/// What the URL says of certificates.
void read_tls(const StoreUrl& url, Address& address);
/// Those that it gives; the others stay as they are.
void read_timeouts(const StoreUrl& url, Address& address);

}  // namespace holdfast::inline v0::net
