#include "support/byte_proxy.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

ByteProxy::ByteProxy(int server_port)
    : server_port_(server_port), listener_(listen_on(port_.number())), thread_([this] { run(); }) {}

ByteProxy::~ByteProxy() {
    ends_ = true;
    thread_.join();
}

void ByteProxy::run() {
    // The end is noticed within this.
    constexpr int look_every = 5;
    while (!ends_) {
        std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
        for (const Pair& pair : pairs_) {
            const short from_client = pair.stalls ? 0 : POLLIN;
            polled.push_back({pair.client.get(), from_client, 0});
            polled.push_back({pair.server.get(), POLLIN, 0});
        }
        poll(polled.data(), polled.size(), look_every);
        std::size_t at = 1;
        for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
            bool alive = true;
            if ((polled[at].revents & (POLLIN | POLLHUP)) != 0) {
                ++requests_;
                alive = carry(pair->client, pair->server);
            }
            if (alive && (polled[at + 1].revents & (POLLIN | POLLHUP)) != 0) {
                alive = carry(pair->server, pair->client);
            }
            pair = alive ? std::next(pair) : pairs_.erase(pair);
        }
        if ((polled[0].revents & POLLIN) != 0) take_new();
    }
}

void ByteProxy::take_new() {
    Socket client = accept_from(listener_);
    if (!client) return;
    Socket server = connect_to_port(server_port_);
    const bool stalls = stalls_;
    // Nobody listens: the client finds out by its end.
    if (server) pairs_.push_back({std::move(client), std::move(server), stalls});
    if (stalls) ++stalled_;
}

bool ByteProxy::carry(const Socket& from, const Socket& to) {
    std::array<char, 16 * 1024> buffer{};
    const ssize_t count = recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    return !resets(from, text) && send_all(to, text);
}

bool ByteProxy::resets(const Socket& client, std::string_view text) {
    // The record in which a client says hello.
    constexpr std::string_view handshake{"\x16\x03\x01"};
    if (handshakes_to_reset_ == 0 || text.find(handshake) == text.npos) return false;
    --handshakes_to_reset_;
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return true;
}

}  // namespace holdfast::test
