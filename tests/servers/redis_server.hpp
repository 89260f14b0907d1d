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

/// Whether what was in the server is there again.
enum class Data { kept, lost };

/// A real redis-server on loopback in a folder of its own, answering when the constructor
/// returns. It ends with this object, and with this process however that ends.
class RedisServer {
public:
    explicit RedisServer(RedisOptions options = {});
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    /// One for all tests of the process, for those that change nothing but its keys: flush() it
    /// first. A forked child may use the parent's.
    static RedisServer& shared();

    int port() const { return port_.number(); }
    int tls_port() const { return tls_port_.number(); }
    std::filesystem::path socket_path() const { return folder_.path() / "socket"; }
    /// Each with the password, if there is one.
    std::string url() const;
    std::string url_through(int port) const;  ///< of a proxy before it
    std::string tls_url() const;              ///< trusts certificates().authority
    std::string socket_url() const;

    /// What it answers, as text: see to_text(). On a connection of its own by the Unix socket, as
    /// a user of its own who may do all, so it works whatever the test does to the others. Throws
    /// when the server does not answer.
    std::string command(const std::vector<std::string>& words) const;
    /// Deletes all keys.
    void flush() const { command({"FLUSHALL"}); }

    /// Ends it as by a crash. Nothing when it is down.
    void kill();
    /// On the same ports in the same folder. Kept data are those of this moment; when it was down,
    /// those that it had saved: by SAVE, or all with "appendonly yes".
    void restart(Data data = Data::kept);
    /// Returns when it stands still: connections are accepted by the kernel, but nothing answers.
    void stop() const { process_->stop(); }
    void go_on() const { process_->go_on(); }

    pid_t pid() const { return process_->pid(); }
    std::string log() const;

private:
    void write_configuration() const;
    void start();
    bool answers() const;
    void save_and_end();
    std::string user_in_url() const;
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

    RedisOptions options_;
    TemporaryFolder folder_;
    LoopbackPort port_;
    LoopbackPort tls_port_;
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends the server when this process has ended without doing so
};

}  // namespace holdfast::test
