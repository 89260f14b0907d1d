#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "support/child.hpp"
#include "support/loopback.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

struct MariadbOptions {
    /// Whether a commit waits for the disk, and memory and log are of the usual size. For what is
    /// measured: a test survives without.
    bool durable = false;
    /// Also takes TLS, with certificates().server.
    bool tls = false;
    /// "max-connections=10"
    std::vector<std::string> settings = {};
};

/// A real MariaDB on loopback in a folder of its own, with the empty database `locks`, answering
/// when the constructor returns. It ends with this object, and with this process however that ends.
class MariadbServer {
public:
    explicit MariadbServer(MariadbOptions options = {});
    ~MariadbServer();
    MariadbServer(const MariadbServer&) = delete;
    MariadbServer& operator=(const MariadbServer&) = delete;

    /// One for all tests of the process, for those that change nothing but its tables: empty() it
    /// first. A forked child may use the parent's.
    static MariadbServer& shared();

    int port() const { return port_.number(); }
    std::string url() const { return url_through(port()); }
    std::string url_through(int port) const;  ///< of a proxy before it
    std::string tls_url() const;              ///< trusts certificates().authority

    /// What statements answer, a line for each row, a tab between columns. By the Unix socket.
    /// Throws when it is refused.
    std::string query(const std::string& statements) const;
    /// Removes all tables and procedures.
    void empty() const { query("DROP DATABASE IF EXISTS locks; CREATE DATABASE locks"); }

    /// Ends it as by a crash. Nothing when it is down.
    void kill();
    /// On the same port with the same data.
    void restart();
    void stop() const { process_->stop(); }
    void go_on() const { process_->go_on(); }
    std::string log() const;

private:
    void start();
    bool answers() const;
    std::vector<std::string> command_line() const;
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

    MariadbOptions options_;
    TemporaryFolder folder_;
    LoopbackPort port_;
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends the server when this process has ended without doing so
};

}  // namespace holdfast::test
