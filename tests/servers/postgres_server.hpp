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

/// What runs a program as somebody whom PostgreSQL agrees to run as; nothing where we are such.
std::vector<std::string> as_unprivileged();
/// Makes that somebody the owner of a folder and what is in it.
void give_to_unprivileged(const std::filesystem::path& path);

struct PostgresOptions {
    /// Whether a commit waits for the disk. For what is measured: a test survives without.
    bool durable = false;
    /// Also takes TLS, with certificates().server.
    bool tls = false;
    /// "max_connections=10"
    std::vector<std::string> settings = {};
};

/// A real PostgreSQL on loopback in a folder of its own, answering when the constructor returns. It
/// ends with this object, and with this process however that ends. As root it runs as nobody, for
/// it refuses to run as root.
class PostgresServer {
public:
    explicit PostgresServer(PostgresOptions options = {});
    ~PostgresServer();
    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;

    /// One for all tests of the process, for those that change nothing but its tables: empty() it
    /// first. A forked child may use the parent's.
    static PostgresServer& shared();

    int port() const { return port_.number(); }
    std::string url() const { return url_through(port()); }
    std::string url_through(int port) const;  ///< of a proxy before it
    std::string tls_url() const;              ///< trusts certificates().authority

    /// What a statement answers, as psql prints it without headers: a line for each row, | between
    /// columns. By the Unix socket. Throws when it is refused.
    std::string query(const std::string& statement) const;
    /// Removes all tables and functions.
    void empty() const { query("DROP SCHEMA public CASCADE; CREATE SCHEMA public"); }

    /// Who may connect how, before what is so already: postgres without, everybody else with a
    /// password. A line of pg_hba.conf.
    void set_access(const std::string& rule) const;
    /// Restarted as one that follows another server, which there is not: it can only be read.
    void become_standby();

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

    PostgresOptions options_;
    TemporaryFolder folder_;
    LoopbackPort port_;
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends the server when this process has ended without doing so
};

}  // namespace holdfast::test
