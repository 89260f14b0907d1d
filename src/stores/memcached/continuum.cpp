#include "stores/memcached/continuum.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::memcached {

namespace {

constexpr std::uint16_t usual_port = 11211;
/// A digest is four points.
constexpr std::size_t points_a_digest = 4;

using Digest = std::array<unsigned char, 16>;

Digest md5(std::string_view text) {
    Digest digest{};
    if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_md5(), nullptr) != 1) {
        throw Error(
            errc::bad_configuration,
            "memcached: names are told to servers by MD5, and OpenSSL refuses it here; name "
            "one server in the URL");
    }
    return digest;
}

/// Its four bytes from there on, the lowest first.
std::uint32_t point_in(const Digest& digest, std::size_t which) {
    std::uint32_t point = 0;
    for (std::size_t byte = points_a_digest; byte-- > 0;) {
        point = point << 8U | digest[which * points_a_digest + byte];
    }
    return point;
}

std::string name_of(const net::Address& server) {
    return server.port == usual_port ? server.host
                                     : server.host + ":" + std::to_string(server.port);
}

/// Of each of so many. In single precision, as libmemcached does: where the sum is not even, a
/// server has a digest less.
std::size_t digests_of_each(std::size_t servers) {
    constexpr float points_of_each = 160;
    const auto count = static_cast<float>(servers);
    const float part = 1.0F / count;
    return static_cast<std::size_t>(std::floor(part * points_of_each / 4 * count + 0.0000000001F));
}

}  // namespace

Continuum::Continuum(std::span<const net::Address> servers) {
    if (servers.size() < 2) return;
    const std::size_t digests = digests_of_each(servers.size());
    for (std::size_t i = 0; i < servers.size(); ++i) add_points(servers[i], i, digests);
    std::ranges::sort(points_, {}, &Point::value);
}

void Continuum::add_points(const net::Address& server, std::size_t number, std::size_t count) {
    const std::string name = name_of(server);
    for (std::size_t i = 0; i < count; ++i) {
        const Digest digest = md5(name + "-" + std::to_string(i));
        for (std::size_t which = 0; which < points_a_digest; ++which) {
            points_.push_back({point_in(digest, which), number});
        }
    }
}

std::size_t Continuum::server_of(std::string_view key) const {
    if (points_.empty()) return 0;
    const auto next = std::ranges::lower_bound(points_, point_in(md5(key), 0), {}, &Point::value);
    return next == points_.end() ? points_.front().server : next->server;
}

}  // namespace holdfast::inline v0::memcached
