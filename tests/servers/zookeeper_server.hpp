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

struct ZookeeperOptions {
    /// Lines of zoo.cfg; they come last, so they win. "maxSessionTimeout=2000", "forceSync=yes",
    /// "extendedTypesEnabled=true" (for nodes with a time to live)
    std::vector<std::string> settings = {};
    /// How often containers that have become empty are removed. By itself it is once a minute.
    std::optional<std::chrono::milliseconds> reaps_every = {};
    /// Also listens for TLS, with certificates().server, and takes those of
    /// certificates().authority from clients that show one. ("ssl.clientAuth=need": from all.)
    bool tls = false;
    /// Flags of the Java machine; they come last, so they win. "-Dzookeeper.name=value"
    std::vector<std::string> java_flags = {};
    /// Its number in an ensemble, whose lines are among the settings; 0: it stands alone.
    int id = 0;
};

/// A real ZooKeeper node on loopback in a folder of its own. It ends with this object, and with
/// this process however that ends.
///
/// Its tick is 500 ms, so sessions are from 1 s to 10 s. It writes its log without waiting for the
/// disk: what it has answered outlives kill(), which is all that a test can do to it.
class ZookeeperServer {
public:
    /// Serves when the constructor returns if it stands alone; a member of an ensemble may wait for
    /// the others: see await_serving().
    explicit ZookeeperServer(ZookeeperOptions options = {});
    ~ZookeeperServer();
    ZookeeperServer(const ZookeeperServer&) = delete;
    ZookeeperServer& operator=(const ZookeeperServer&) = delete;

    /// One for all tests of the process, for those that change nothing but nodes of their own: its
    /// tree is not emptied between tests. It reaps containers every 100 ms. A forked child may use
    /// the parent's.
    static ZookeeperServer& shared();

    int port() const { return port_.number(); }
    int tls_port() const { return tls_port_.number(); }
    /// "127.0.0.1:PORT", as clients of ZooKeeper want it.
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    std::string url() const { return url_through(port()); }
    std::string url_through(int port) const;  ///< of a proxy before it

    /// What it answers to one of its four-letter words: "mntr", "srvr", "dump" (sessions and their
    /// ephemeral nodes), "wchp" (watches by path), "cons". Throws when there is no answer in time.
    std::string ask(const std::string& word, std::chrono::milliseconds limit = patience) const;
    /// One number of "mntr", by its name without "zk_": "znode_count", "watch_count",
    /// "ephemerals_count". Throws when it has none of that name.
    double measured(const std::string& name) const;
    /// "standalone", "leader" or "follower"; empty when it serves nobody now, or does not answer.
    std::string mode() const;

    /// Ends it as by a crash. Nothing when it is down.
    void kill();
    /// As by kill(), if it is not down; then the same data on the same ports. Serves when this
    /// returns: a member needs a majority for that.
    void restart();
    /// As restart(), with further lines of zoo.cfg.
    void restart_with(const std::vector<std::string>& settings);
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
    void write_configuration() const;
    void write_key_store() const;
    std::vector<std::string> command_line() const;
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

    ZookeeperOptions options_;
    TemporaryFolder folder_;
    LoopbackPort port_;
    LoopbackPort tls_port_;
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends the server when this process has ended without doing so
};

}  // namespace holdfast::test
