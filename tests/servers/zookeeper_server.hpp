#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "servers/server_process.hpp"
#include "support/await.hpp"

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

/// A real ZooKeeper node.
///
/// Its tick is 500 ms, so sessions are from 1 s to 10 s. It writes its log without waiting for the
/// disk: what it has answered outlives kill(), which is all that a test can do to it.
class ZookeeperServer : public ServerProcess {
public:
    /// Serves when the constructor returns if it stands alone; a member of an ensemble may wait for
    /// the others: see await_serving().
    explicit ZookeeperServer(ZookeeperOptions options = {});

    /// One for all tests of the process, for those that change nothing but nodes of their own: its
    /// tree is not emptied between tests. It reaps containers every 100 ms. A forked child may use
    /// the parent's.
    static ZookeeperServer& shared();

    std::string url_through(int port) const override;
    std::string tls_url() const;  ///< trusts certificates().authority

    /// What it answers to one of its four-letter words: "mntr", "srvr", "dump" (sessions and their
    /// ephemeral nodes), "wchp" (watches by path), "cons". Throws when there is no answer in time.
    std::string ask(const std::string& word, std::chrono::milliseconds limit = patience) const;
    /// One number of "mntr", by its name without "zk_": "znode_count", "watch_count",
    /// "ephemerals_count". Throws when it has none of that name.
    double measured(const std::string& name) const;
    /// "standalone", "leader" or "follower"; empty when it serves nobody now, or does not answer.
    std::string mode() const;
    bool leads() const { return mode() == "leader"; }
    bool follows() const { return mode() == "follower"; }

    /// As restart(), with further lines of zoo.cfg.
    void restart_with(const std::vector<std::string>& settings);

private:
    std::vector<std::string> command_line() const override;
    bool serves() const override;
    void make_data() const override;
    void write_configuration() const;
    void write_key_store() const;

    ZookeeperOptions options_;
};

}  // namespace holdfast::test
