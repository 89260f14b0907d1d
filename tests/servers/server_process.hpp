#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/loopback.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

/// A real server on loopback in a folder of its own, with its data in file("data") and what it says
/// in file("log"). It ends with this object, and with this process however that ends.
class ServerProcess {
public:
    virtual ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    int port() const { return port_.number(); }
    int tls_port() const { return tls_port_.number(); }  ///< where it has one for TLS alone
    /// "127.0.0.1:PORT"
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    std::string url() const { return url_through(port()); }
    virtual std::string url_through(int port) const = 0;  ///< of a proxy before it

    /// Ends it as by a crash. Nothing when it is down.
    void kill();
    /// As by kill(), if it is not down; then the same data on the same ports. Serves when this
    /// returns.
    virtual void restart();
    /// As restart(), but does not wait.
    void start();
    /// Throws with the end of its log when it has ended, or is not ready in time.
    void await_serving();
    /// As restart(), but of all that it knew nothing is left.
    void restart_empty();
    /// Returns when it stands still: connections are accepted by the kernel, but nothing answers.
    void pause() const;
    void resume() const;

    /// Until kill(), paused or not.
    bool runs() const { return process_.has_value(); }
    pid_t pid() const { return process_->pid(); }
    std::string log() const;
    const std::filesystem::path& folder() const { return folder_.path(); }

protected:
    /// Where its data is.
    enum class Medium : std::uint8_t {
        quickest,
        disk,  ///< for what is measured: a write that a server waits for is to cost what it does
    };
    explicit ServerProcess(std::string program, Medium medium = Medium::quickest);

    virtual std::vector<std::string> command_line() const = 0;
    /// Whether it answers as one that is ready.
    virtual bool serves() const = 0;
    /// Makes file("data") as it is before the server was ever used.
    virtual void make_data() const {}

    /// What is called when the derived class knows all that it needs.
    void make_and_start();
    void end_by_itself();
    /// The command line of a program that logs to its standard output.
    std::vector<std::string> logged(std::vector<std::string> words) const;
    /// What a client program says, without the last line's end. Throws, with what was asked and
    /// what it said, when it fails.
    static std::string said_by(const std::vector<std::string>& words, const std::string& asked);
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

private:
    /// Of a server that has a process for each connection.
    std::vector<pid_t> children() const;

    const std::string program_;
    TemporaryFolder folder_;
    LoopbackPort port_;
    LoopbackPort tls_port_;
    std::optional<Child> process_;
    std::optional<Child> guard_;  ///< ends the server when this process has ended without doing so
};

}  // namespace holdfast::test
