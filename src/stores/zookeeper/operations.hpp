#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/zookeeper/jute.hpp"

/// The requests of ZooKeeper's protocol that we make, and what is answered to them.
namespace holdfast::inline v0::zookeeper {

/// What a server answers instead of a result.
enum class Refusal : std::int32_t {
    none = 0,
    connection_loss = -4,
    unimplemented = -6,
    no_node = -101,
    no_auth = -102,
    bad_version = -103,
    no_children_for_ephemerals = -108,
    node_exists = -110,
    not_empty = -111,
    session_expired = -112,
    invalid_acl = -114,
    auth_failed = -115,
    session_moved = -118,
    quota_exceeded = -125,
    throttled = -127,
};

/// What the server knows of a node.
struct Stat {
    std::int64_t czxid = 0;  ///< the transaction that made it
    std::int64_t mzxid = 0;  ///< that wrote it last
    std::int64_t ctime = 0;  ///< in ms since 1970, by the leader's clock
    std::int64_t ephemeral_owner = 0;
};

/// A request. Its number (xid) comes from the connection.
struct Operation {
    std::int32_t type = 0;
    std::string record;
    /// Whether only a majority can answer it: see SessionProof.
    bool writes = false;
};

struct Reply {
    Refusal refusal = Refusal::none;
    std::string record = {};
    std::int64_t zxid = 0;  ///< the last transaction that the server knew of

    bool ok() const noexcept { return refusal == Refusal::none; }
    // What a successful one has in it. Each throws Error with errc::corrupt when it has not.
    struct Made {
        std::string path;
        Stat stat;
    };
    Made made() const;                          ///< of create_node
    std::vector<std::string> children() const;  ///< of list_children
    struct Listing {
        std::vector<std::string> children;
        Stat stat;
    };
    Listing listing() const;  ///< of list_with_stat
    struct Content {
        std::string data;
        Stat stat;
    };
    Content content() const;  ///< of read_node
    Stat stat() const;        ///< of look_at_node
    /// Of delete_lasting_node and delete_behind: why nothing was done, or none.
    Refusal refused() const;
};

/// Who may use a node.
enum class Access : std::uint8_t { everybody, creator };
enum class Kind : std::int32_t { ephemeral = 1, ephemeral_sequential = 3, container = 4 };
enum class Watching : std::uint8_t { no, yes };

Operation create_node(std::string_view path, std::string_view data, Kind kind, Access access);
Operation delete_node(std::string_view path);
/// Deletes a node while another one is there, which we must have the right to read.
Operation delete_behind(std::string_view path, std::string_view other);
/// Deletes a node without children, if it is none that ends with a session: such a one has the name
/// only after the other was deleted, and is not to go in its stead.
Operation delete_lasting_node(std::string_view path, Access access);
/// Tells changes and the end of the node, if it is there.
Operation read_node(std::string_view path, Watching watching = Watching::no);
Operation write_node(std::string_view path, std::string_view data);
/// Needs no right. Watches also a node that is not there.
Operation look_at_node(std::string_view path, Watching watching = Watching::no);
Operation list_children(std::string_view path);
Operation list_with_stat(std::string_view path);
/// Changes nothing, and is answered as a write is: when a majority has taken it.
Operation write_nothing();
/// The node is watched no more.
Operation forget_watch(std::string_view path);
/// What is asked for after it is not older than the leader's state when it got this. It proves no
/// majority.
Operation catch_up();
Operation close_session();

/// The records that open a connection.
struct SessionRequest {
    std::int64_t last_zxid = 0;
    std::int32_t timeout_ms = 0;
    std::int64_t id = 0;
    std::string password = {};
};
std::string record_of(const SessionRequest& request);
struct SessionAnswer {
    std::int32_t timeout_ms = 0;  ///< 0: the session is over
    std::int64_t id = 0;
    std::string password;
};
SessionAnswer session_answer(std::string_view bytes);
/// `credentials` are user:password.
std::string digest_record(std::string_view credentials);
/// Watches the nodes again on a new connection, from `zxid` on: what happened since is told.
std::string watches_record(std::int64_t zxid, const std::vector<std::string>& paths);
/// With its number before it.
std::string request_record(std::int32_t number, const Operation& operation);

/// Numbers of what is no answer to a numbered request.
inline constexpr std::int32_t event_number = -1;
inline constexpr std::int32_t auth_number = -4;
inline constexpr std::int32_t watches_number = -8;

/// One record that has arrived.
struct Incoming {
    std::int32_t number = 0;
    std::int64_t zxid = 0;
    Reply reply;
};
Incoming incoming(std::string_view bytes);

struct Event {
    enum class What : std::int32_t { created = 1, deleted = 2, changed = 3, children = 4 };
    What what = What::deleted;
    std::string path;
};
/// Nothing when it is about the session, which is learnt in other ways.
std::optional<Event> event_of(const Reply& reply);

}  // namespace holdfast::inline v0::zookeeper
