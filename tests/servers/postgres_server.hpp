#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

/// What runs a program as somebody whom PostgreSQL agrees to run as; nothing where we are such.
std::vector<std::string> as_unprivileged();
/// Makes that somebody the owner of a folder and what is in it.
void give_to_unprivileged(const std::filesystem::path& path);

class PostgresServer;

struct PostgresOptions {
    /// Whether a commit waits for the disk. For what is measured: a test survives without.
    bool durable = false;
    /// Also takes TLS, with certificates().server.
    bool tls = false;
    /// "max_connections=10"
    std::vector<std::string> settings = {};
    /// What it is started by: {"env", "LD_PRELOAD=..."}
    std::vector<std::string> under = {};
    /// It begins with what this one has, and follows it until promote(). That one must let it: see
    /// let_replicas_in().
    const PostgresServer* replica_of = nullptr;
};

/// A real PostgreSQL, answering when the constructor returns. As root it runs as nobody, for it
/// refuses to run as root.
class PostgresServer : public ServerProcess {
public:
    explicit PostgresServer(PostgresOptions options = {});

    /// One for all tests of the process, for those that change nothing but its tables: empty() it
    /// first. A forked child may use the parent's.
    static PostgresServer& shared();

    std::string url_through(int port) const override;
    std::string tls_url() const;  ///< trusts certificates().authority

    /// What a statement answers, as psql prints it without headers: a line for each row, | between
    /// columns. By the Unix socket. Throws when it is refused.
    std::string query(const std::string& statement) const;
    /// Removes all tables and functions.
    void empty() const { query("DROP SCHEMA public CASCADE; CREATE SCHEMA public"); }

    /// Who may connect how, before what is so already: postgres without, everybody else with a
    /// password. A line of pg_hba.conf.
    void set_access(const std::string& rule) const;
    void let_replicas_in() const { set_access("local replication postgres trust"); }
    /// It takes the place of the one that it has followed.
    void promote() const;
    /// Restarted as one that follows another server, which there is not: it can only be read.
    void become_standby();

private:
    std::vector<std::string> command_line() const override;
    bool serves() const override;
    void make_data() const override;

    PostgresOptions options_;
};

}  // namespace holdfast::test
