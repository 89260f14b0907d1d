#pragma once

#include <optional>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

/// What a member of a cluster has to know of it.
struct EtcdMembership {
    std::string name;
    int listened_port = 0;    ///< where it listens for its peers
    int advertised_port = 0;  ///< where they reach it
    std::string cluster;      ///< "name=http://127.0.0.1:PORT,..." with all advertised ports
};

struct EtcdOptions {
    /// Flags of etcd; they come last, so they win. "--auth-token-ttl=2", "--max-request-bytes=9000"
    std::vector<std::string> flags = {};
    /// Also listens for TLS, with certificates().server.
    bool tls = false;
    /// And there takes only clients that show a certificate of certificates().authority.
    bool client_certificates = false;
    /// Nothing: it stands alone.
    std::optional<EtcdMembership> membership = {};
};

/// A real etcd.
///
/// Its leases are from 1 s: an election takes 600 ms, and no lease is shorter than one and a half.
/// Its folder is in memory where the machine allows, since this version waits for the disk with
/// every write: what it has answered outlives kill(), which is all that a test can do to it.
class EtcdServer : public ServerProcess {
public:
    /// Serves when the constructor returns if it stands alone; a member of a cluster may wait for
    /// the others: see await_serving().
    explicit EtcdServer(EtcdOptions options = {});

    /// One for all tests of the process, for those that change nothing but keys of their own: it is
    /// not emptied between tests. A forked child may use the parent's.
    static EtcdServer& shared();

    std::string url_through(int port) const override;
    std::string tls_url() const;  ///< trusts certificates().authority

    /// What etcdctl prints, without the last line's end, asking this server unless the first word
    /// is --endpoints=... Throws when it fails, or the server does not answer.
    std::string ctl(const std::vector<std::string>& words) const;
    /// Deletes all keys.
    void clear() const { ctl({"del", "", "--prefix"}); }
    /// One number of its metrics, labels and all: "etcd_server_proposals_committed_total",
    /// "etcd_debugging_mvcc_txn_total", "grpc_server_started_total{...}". Throws when it has none
    /// of that name; see counted().
    double measured(const std::string& name) const;
    /// How many requests of one kind it has taken: counted("etcdserverpb.Lease", "LeaseGrant").
    double counted(const std::string& service, const std::string& method) const;
    /// Whether it takes itself for the leader. False when it does not answer.
    bool leads() const;
    bool follows() const { return serves() && !leads(); }
    /// Whether it answers with a majority behind it.
    bool serves() const override;

private:
    std::vector<std::string> command_line() const override;
    EtcdMembership alone() const;

    EtcdOptions options_;
    LoopbackPort peer_port_;  ///< when it stands alone
};

}  // namespace holdfast::test
