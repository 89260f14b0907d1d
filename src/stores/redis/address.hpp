#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "stores/store_url.hpp"

namespace holdfast::inline v0::redis {

/// Where a server is and how it is entered.
struct Address {
    enum class Reach : std::uint8_t { tcp, tls, unix_socket };

    Reach reach = Reach::tcp;
    std::string host = {};  ///< or the socket's path
    std::uint16_t port = 6379;
    std::string user = {};
    std::string password = {};
    std::uint32_t database = 0;
    std::string tls_ca = {};  ///< empty: the machine's own
    std::string tls_cert = {};
    std::string tls_key = {};
    std::chrono::milliseconds connect_timeout{3000};
    std::chrono::milliseconds request_timeout{3000};

    /// For sentences: "redis 127.0.0.1:6379".
    std::string shown() const;
};

/// Throws Error with errc::bad_configuration. Reads the password's file, if one is named.
Address address_of(const StoreUrl& url);

}  // namespace holdfast::inline v0::redis
