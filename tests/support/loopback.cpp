#include "support/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "support/await.hpp"

namespace holdfast::test {

namespace {

sockaddr_in address_of(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void enable(const Socket& socket, int level, int option) {
    const int on = 1;
    setsockopt(socket.get(), level, option, &on, sizeof on);
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

Socket bind_to(int port) {
    Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) fail("socket");
    // Several may be bound to a port if all say so, and none of them listens yet.
    enable(made, SOL_SOCKET, SO_REUSEADDR);
    const sockaddr_in address = address_of(port);
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail("binding to port " + std::to_string(port));
    }
    return made;
}

int port_of(const Socket& socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        fail("getsockname");
    }
    return ntohs(address.sin_port);
}

Socket connected(Socket made, const sockaddr* address, socklen_t size,
                 std::chrono::milliseconds limit) {
    // Before: where more wait to be accepted than the server allows, connecting takes minutes.
    if (made) limit_waiting(made, limit);
    if (!made || connect(made.get(), address, size) != 0) return {};
    return made;
}

}  // namespace

void Socket::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

LoopbackPort::LoopbackPort() : bound_(bind_to(0)), number_(port_of(bound_)) {}

Socket listen_on(int port) {
    Socket made = bind_to(port);
    if (listen(made.get(), SOMAXCONN) != 0) fail("listening on port " + std::to_string(port));
    return made;
}

Socket connect_to_port(int port, std::chrono::milliseconds limit) {
    const sockaddr_in address = address_of(port);
    Socket made = connected(Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                            reinterpret_cast<const sockaddr*>(&address), sizeof address, limit);
    if (made) enable(made, IPPROTO_TCP, TCP_NODELAY);
    return made;
}

Socket start_connecting(int port) {
    const sockaddr_in address = address_of(port);
    Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) fail("socket");
    enable(made, IPPROTO_TCP, TCP_NODELAY);
    // A failure is kept, and told to the first who reads.
    static_cast<void>(
        connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return made;
}

Socket accept_from(const Socket& listener) {
    Socket made(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (made) enable(made, IPPROTO_TCP, TCP_NODELAY);
    return made;
}

Socket connect_to_path(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    return connected(Socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                     reinterpret_cast<const sockaddr*>(&address), sizeof address, patience);
}

void limit_waiting(const Socket& socket, std::chrono::milliseconds limit) {
    const timeval value{.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

bool send_all(const Socket& socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace holdfast::test
