#pragma once

#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

struct MariadbOptions {
    /// Whether a commit waits for the disk, and memory and log are of the usual size. For what is
    /// measured: a test survives without.
    bool durable = false;
    /// Also takes TLS, with certificates().server.
    bool tls = false;
    /// "max-connections=10"
    std::vector<std::string> settings = {};
    /// What it is started by: {"env", "LD_PRELOAD=..."}
    std::vector<std::string> under = {};
};

/// A real MariaDB with the empty database `locks`, answering when the constructor returns.
class MariadbServer : public ServerProcess {
public:
    explicit MariadbServer(MariadbOptions options = {});

    /// One for all tests of the process, for those that change nothing but its tables: empty() it
    /// first. A forked child may use the parent's.
    static MariadbServer& shared();

    std::string url_through(int port) const override;
    std::string tls_url() const;  ///< trusts certificates().authority

    /// What statements answer, a line for each row, a tab between columns. By the Unix socket.
    /// Throws when it is refused.
    std::string query(const std::string& statements) const;
    /// Removes all tables and procedures.
    void empty() const { query("DROP DATABASE IF EXISTS locks; CREATE DATABASE locks"); }

private:
    std::vector<std::string> command_line() const override;
    bool serves() const override;
    void make_data() const override;

    MariadbOptions options_;
};

}  // namespace holdfast::test
