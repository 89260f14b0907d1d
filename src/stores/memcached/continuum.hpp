#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stores/net/address.hpp"

namespace holdfast::inline v0::memcached {

/// Which of several servers has a key: the circle of libketama, as libmemcached draws it for
/// MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED without weights. All clients that share locks must name the
/// same servers in the same words.
class Continuum {
public:
    /// Throws Error with errc::bad_configuration when OpenSSL refuses to compute MD5.
    explicit Continuum(std::span<const net::Address> servers);

    /// By its place among the servers.
    std::size_t server_of(std::string_view key) const;

private:
    struct Point {
        std::uint32_t value;
        std::size_t server;
    };
    void add_points(const net::Address& server, std::size_t number, std::size_t count);

    std::vector<Point> points_;  ///< by value; none where there is one server
};

}  // namespace holdfast::inline v0::memcached
