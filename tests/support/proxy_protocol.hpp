#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace holdfast::test {

/// What a proxy must know of what passes through it: where requests and replies end, and which
/// belong together. One for each connection, for it may remember what was said.
class ProxyProtocol {
public:
    virtual ~ProxyProtocol() = default;

    /// How many bytes the first request or reply in `bytes` has; nothing while it is not complete.
    virtual std::optional<std::size_t> size_of_first(std::string_view bytes) const = 0;
    /// A request goes to the server: how many replies it will have.
    virtual std::size_t replies_to(std::string_view request) = 0;
    /// Whether this came from the server without being asked for.
    virtual bool is_push(std::string_view reply) = 0;
};

using MakeProtocol = std::unique_ptr<ProxyProtocol> (*)();
std::unique_ptr<ProxyProtocol> redis_protocol();
std::unique_ptr<ProxyProtocol> zookeeper_protocol();

/// The kind of a request to ZooKeeper, by its number in the protocol; nothing for the one that
/// opens a connection.
enum class ZookeeperVerb {
    remove = 2,
    exists = 3,
    read = 4,
    write = 5,
    list = 8,
    sync = 9,
    multi = 14,
    create = 15,
    create_container = 19,
    close = -11,
};
std::optional<ZookeeperVerb> zookeeper_verb(std::string_view request);

}  // namespace holdfast::test
