#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "support/await.hpp"

/// Plain sockets of this machine.
namespace holdfast::test {

/// Owns a descriptor. Not inherited by programs that a test starts.
class Socket {
public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    ~Socket() { close(); }
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    void close();

private:
    int descriptor_ = -1;
};

/// A free port of 127.0.0.1 that is nobody else's as long as this object lives, listened to or
/// not: a server can end and start there again, and meanwhile connecting is refused. (A port that
/// is merely found free is anybody's before the server starts, and while it is down a client that
/// tries to connect can be given that very port as its own and meet itself.)
class LoopbackPort {
public:
    LoopbackPort();
    int number() const { return number_; }

private:
    Socket bound_;  // never listens
    int number_;
};

/// For accept_from(): not blocking.
Socket listen_on(int port);
/// Blocking, but for no longer than the limit at a time. An empty Socket, and errno, when nobody
/// listens.
Socket connect_to_port(int port, std::chrono::milliseconds limit = patience);
Socket connect_to_path(const std::filesystem::path& path);
/// Not blocking. That nobody listens is found out by reading.
Socket start_connecting(int port);
/// Not blocking, the new one neither. Empty when nobody has come.
Socket accept_from(const Socket& listener);

void limit_waiting(const Socket& socket, std::chrono::milliseconds limit);

/// Whether all of it was handed over.
bool send_all(const Socket& socket, std::string_view bytes);

}  // namespace holdfast::test
