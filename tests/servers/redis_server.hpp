#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

struct RedisOptions {
    /// Of the default user.
    std::string password = {};
    /// Also listens for TLS, with certificates().server, and takes those of
    /// certificates().authority from clients that show one. ("tls-auth-clients yes": from all.)
    bool tls = false;
    /// Lines of redis.conf; they come last, so they win. "appendonly yes", "maxmemory 8mb",
    /// "user alice on >secret ~jobs/* &* +@all"
    std::vector<std::string> settings = {};
    /// What its command line begins with: "env", "LD_PRELOAD=...".
    std::vector<std::string> under = {};
};

/// What whoever listens there answers, as text: see to_text(). Nothing when it does not within a
/// second.
std::optional<std::string> ask_resp(int port, const std::vector<std::string>& words,
                                    const std::string& password = "");

/// A real redis-server, answering when the constructor returns.
class RedisServer : public ServerProcess {
public:
    explicit RedisServer(RedisOptions options = {});

    /// One for all tests of the process, for those that change nothing but its keys: flush() it
    /// first. A forked child may use the parent's.
    static RedisServer& shared();

    std::filesystem::path socket_path() const { return file("socket"); }
    /// Each with the password, if there is one.
    std::string url_through(int port) const override;
    std::string tls_url() const;  ///< trusts certificates().authority
    std::string socket_url() const;

    /// Whether it says so. No answer is no: a sentinel that gives it another part closes all
    /// connections.
    bool is_master() const { return role().starts_with("[master"); }
    bool is_replica() const { return role().starts_with("[slave"); }
    /// By what this one says: the other has got all that was there when it came.
    bool is_followed_by(const RedisServer& replica) const;
    /// What it answers, as text: see to_text(). On a connection of its own by the Unix socket, as
    /// a user of its own who may do all, so it works whatever the test does to the others. Throws
    /// when the server does not answer.
    std::string command(const std::vector<std::string>& words) const;
    /// Deletes all keys.
    void flush() const { command({"FLUSHALL"}); }

    /// Kept data are those of this moment; when it was down, those that it had saved: by SAVE, or
    /// all with "appendonly yes".
    void restart() override;

private:
    std::string role() const;
    std::vector<std::string> command_line() const override;
    bool serves() const override;
    void make_data() const override;
    void write_configuration() const;
    std::string user_in_url() const;

    RedisOptions options_;
};

}  // namespace holdfast::test
