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
    // A control is noticed within this.
    constexpr int look_every = 5;
    while (!ends_) {
        const bool closed = mode_ == Mode::black_hole;
        const short events = closed ? 0 : POLLIN;
        std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
        for (const Pair& pair : pairs_) {
            polled.push_back({pair.client.get(), events, 0});
            polled.push_back({pair.server.get(), events, 0});
        }
        poll(polled.data(), polled.size(), look_every);
        std::size_t at = 1;
        for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
            const bool from_client = (polled[at].revents & (POLLIN | POLLHUP)) != 0;
            const bool from_server = (polled[at + 1].revents & (POLLIN | POLLHUP)) != 0;
            bool alive = true;
            if (!closed && from_client) {
                ++requests_;
                alive = carry(pair->client, pair->server);
            }
            if (!closed && alive && from_server) alive = carry_answer(*pair);
            pair = alive ? std::next(pair) : pairs_.erase(pair);
        }
        if ((polled[0].revents & POLLIN) != 0) take_new();
    }
}

void ByteProxy::take_new() {
    Socket client = accept_from(listener_);
    if (!client) return;
    Socket server = connect_to_port(server_port_);
    ++connections_;
    // Nobody listens: the client finds out by its end.
    if (server) pairs_.push_back({std::move(client), std::move(server)});
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

bool ByteProxy::carry_answer(Pair& pair) {
    Mode expected = Mode::lose_next_answer;
    if (mode_.compare_exchange_strong(expected, Mode::pass)) {
        ++lost_;
        return false;
    }
    return carry(pair.server, pair.client);
}

}  // namespace holdfast::test
