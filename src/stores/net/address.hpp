#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "port/store_url.hpp"

namespace holdfast::inline v0::net {

/// Where a server is, how it is reached, and how long to wait for it.
struct Address {
    enum class Reach : std::uint8_t { tcp, tls, unix_socket };

    std::string kind = {};  ///< of server, for sentences: "redis"
    Reach reach = Reach::tcp;
    std::string host = {};  ///< or the socket's path
    std::uint16_t port = 0;
    std::string tls_ca = {};  ///< empty: the machine's own
    std::string tls_cert = {};
    std::string tls_key = {};
    std::chrono::milliseconds connect_timeout{3000};
    std::chrono::milliseconds request_timeout{3000};

    /// For sentences: "redis 127.0.0.1:6379".
    std::string shown() const;
};

/// What the URL says of certificates. Throws Error with errc::bad_configuration.
void read_tls(const StoreUrl& url, Address& address);
/// Those that it gives; the others stay as they are.
void read_timeouts(const StoreUrl& url, Address& address);

}  // namespace holdfast::inline v0::net
