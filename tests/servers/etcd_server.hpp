#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "support/await.hpp"
#include "support/child.hpp"
#include "support/loopback.hpp"
#include "support/temporary_folder.hpp"

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

/// A real etcd on loopback in a folder of its own. It ends with this object, and with this process
/// however that ends.
///
/// Its leases are from 1 s: an election takes 600 ms, and no lease is shorter than one and a half.
/// Its folder is in memory where the machine allows, since this version waits for the disk with
/// every write: what it has answered outlives kill(), which is all that a test can do to it.
class EtcdServer {
public:
    /// Serves when the constructor returns if it stands alone; a member of a cluster may wait for
    /// the others: see await_serving().
    explicit EtcdServer(EtcdOptions options = {});
    ~EtcdServer();
    EtcdServer(const EtcdServer&) = delete;
    EtcdServer& operator=(const EtcdServer&) = delete;

    /// One for all tests of the process, for those that change nothing but keys of their own: it is
    /// not emptied between tests. A forked child may use the parent's.
    static EtcdServer& shared();

    int port() const { return port_.number(); }
    int tls_port() const { return tls_port_.number(); }
    /// "127.0.0.1:PORT"
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    std::string url() const { return url_through(port()); }
    std::string url_through(int port) const;  ///< of a proxy before it
    std::string tls_url() const;              ///< trusts certificates().authority

    /// What etcdctl prints, without the last line's end, asking this server unless the first word
    /// is
    /// --endpoints=... Throws when it fails, or the server does not answer.
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
    /// Whether it answers with a majority behind it.
    bool serves() const;

    /// Ends it as by a crash. Nothing when it is down.
    void kill();
    /// As by kill(), if it is not down; then the same data on the same ports. Serves when this
    /// returns: a member needs a majority for that.
    void restart();
    /// As restart(), but does not wait.
    void start();
    void await_serving();
    /// As restart(), but of all that it knew nothing is left.
    void restart_empty();
    /// Returns when it stands still: connections are accepted by the kernel, but nothing answers.
    void pause() const { process_->stop(); }
    void resume() const { process_->go_on(); }

    /// Until kill(), paused or not.
    bool runs() const { return process_.has_value(); }
    pid_t pid() const { return process_->pid(); }
    std::string log() const;

private:
    std::vector<std::string> command_line() const;
    EtcdMembership alone() const;
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

    EtcdOptions options_;
    TemporaryFolder folder_;
    LoopbackPort port_;
    LoopbackPort tls_port_;
    LoopbackPort peer_port_;  ///< when it stands alone
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends the server when this process has ended without doing so
};

}  // namespace holdfast::test
