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
/// What follows the first packet of an answer passes as if nobody had asked for it.
std::unique_ptr<ProxyProtocol> mysql_protocol();
std::unique_ptr<ProxyProtocol> postgres_protocol();
/// Each frame is a request; replied to are those that end a stream of the client's, as the only
/// message of a call does. Their replies are taken to come in order, so let a test that drops one
/// have one call at a time.
std::unique_ptr<ProxyProtocol> http2_protocol();

/// Of meta commands, and of the little that goes before them.
std::unique_ptr<ProxyProtocol> memcached_protocol();

/// What a request asks of memcached; nothing where it is none of these.
enum class MemcachedVerb { add, replace, remove, look };
std::optional<MemcachedVerb> memcached_verb(std::string_view request);

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

/// What a frame asks of etcd; nothing where it is none of these, or not whole.
enum class EtcdVerb {
    enter,       ///< a transaction that puts a key if
    guard,       ///< a transaction that puts a key in any case
    leave,       ///< deletes one, in a transaction or alone
    look,        ///< a transaction that writes nothing
    keep_alive,  ///< of a lease
    watch,       ///< begins
};
std::optional<EtcdVerb> etcd_verb(std::string_view frame);

}  // namespace holdfast::test
