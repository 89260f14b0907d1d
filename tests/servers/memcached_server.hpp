#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "servers/certificates.hpp"
#include "servers/server_process.hpp"

namespace holdfast::test {

struct MemcachedOptions {
    /// Of its command line; they come last, so they win. "-M", "-o temporary_ttl=3600"
    std::vector<std::string> flags = {};
    /// Lines of "user:password" for -Y; nothing: it asks for none.
    std::string users = {};
    /// Also listens for TLS, with certificates().server.
    bool tls = false;
    /// And there takes only clients that show a certificate of certificates().authority.
    bool client_certificates = false;
    /// Speaks the binary protocol alone.
    bool binary = false;
};

/// A real memcached. What it knows is gone when it ends.
class MemcachedServer : public ServerProcess {
public:
    explicit MemcachedServer(MemcachedOptions options = {});

    /// One for all tests of the process, for those that change nothing but its items: flush() it
    /// first. A forked child may use the parent's.
    static MemcachedServer& shared();

    std::string url_through(int port) const override {
        return "memcached://127.0.0.1:" + std::to_string(port);
    }
    std::string tls_url() const;  ///< trusts certificates().authority

    /// The first line of what it answers to the bytes of a command, whose last line's end is added.
    /// Throws when it does not answer. Not of a server that asks for a password.
    std::string command(const std::string& bytes) const;
    /// One of the numbers that it tells by `stats`: "cmd_get", "evictions".
    std::uint64_t stat(const std::string& name) const;
    void flush() const { command("flush_all"); }
    /// Stores what others need the room for, until it has evicted so many items or, where it does
    /// not evict, has no room left for one.
    void fill(std::uint64_t evictions = 40'000) const;

private:
    std::vector<std::string> command_line() const override;
    bool serves() const override;

    MemcachedOptions options_;
};

}  // namespace holdfast::test
