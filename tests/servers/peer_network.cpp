#include "servers/peer_network.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace holdfast::test {

namespace {

Socket make_bell() {
    Socket bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) throw std::system_error(errno, std::generic_category(), "eventfd");
    return bell;
}

bool has_failed(ssize_t count) {
    return count < 0 && errno != EAGAIN && errno != EINTR;
}

}  // namespace

PeerNetwork::PeerNetwork(std::size_t members, Greeting greeting)
    : greeting_(std::move(greeting)), bell_(make_bell()), cut_(members, false) {
    thread_ = std::thread([this] { run(); });
}

PeerNetwork::~PeerNetwork() {
    {
        const std::lock_guard guard(mutex_);
        ends_ = true;
    }
    ring();
    thread_.join();
}

int PeerNetwork::open(Way way) {
    Link link{.way = way};
    link.listener = listen_on(link.port.number());
    const int port = link.port.number();
    {
        const std::lock_guard guard(mutex_);
        links_.push_back(std::move(link));
    }
    ring();
    return port;
}

void PeerNetwork::cut(std::size_t member) {
    const std::lock_guard guard(mutex_);
    cut_.at(member) = true;
}

void PeerNetwork::abandon(std::size_t member) {
    const std::lock_guard guard(mutex_);
    cut_.at(member) = true;
    for (Link& link : links_) {
        for (Connection& connection : link.connections) {
            if (connection.from == member) {
                shutdown(connection.server.get(), SHUT_RDWR);
            } else if (link.way.to == member) {
                shutdown(connection.client.get(), SHUT_RDWR);
            }
        }
    }
}

void PeerNetwork::heal() {
    {
        const std::lock_guard guard(mutex_);
        cut_.assign(cut_.size(), false);
    }
    ring();
}

void PeerNetwork::ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(bell_.get(), &one, sizeof one));
}

// --- the network's thread ------------------------------------------------------------------------

void PeerNetwork::run() {
    for (;;) {
        wait();
        const std::lock_guard guard(mutex_);
        if (ends_) return;
        for (Link& each : links_) serve(each);
    }
}

void PeerNetwork::wait() {
    auto polled = awaited();
    poll(polled.data(), polled.size(), -1);
    std::uint64_t rung = 0;
    static_cast<void>(!read(bell_.get(), &rung, sizeof rung));
}

/// Nothing of what is cut, or it would be found again and again.
std::vector<pollfd> PeerNetwork::awaited() {
    const auto interest = [](const Socket& socket, const Flow& from_it, const Flow& to_it) {
        const int reads = from_it.ended || !from_it.bytes.empty() ? 0 : POLLIN;
        const int writes = to_it.bytes.empty() ? 0 : POLLOUT;
        return pollfd{.fd = reads + writes == 0 ? -1 : socket.get(),
                      .events = static_cast<short>(reads | writes),
                      .revents = 0};
    };
    std::vector<pollfd> all = {{.fd = bell_.get(), .events = POLLIN, .revents = 0}};
    const std::lock_guard guard(mutex_);
    for (const Link& each : links_) {
        if (is_cut(each.way.from) || is_cut(each.way.to)) continue;
        all.push_back({.fd = each.listener.get(), .events = POLLIN, .revents = 0});
        for (const Connection& connection : each.connections) {
            if (is_cut(connection.from)) continue;
            all.push_back(interest(connection.client, connection.request, connection.reply));
            all.push_back(interest(connection.server, connection.reply, connection.request));
        }
    }
    return all;
}

void PeerNetwork::serve(Link& link) {
    if (is_cut(link.way.from) || is_cut(link.way.to)) return;
    while (Socket client = accept_from(link.listener)) {
        link.connections.push_back({.client = std::move(client),
                                    .server = start_connecting(link.way.target),
                                    .from = link.way.from});
    }
    for (Connection& connection : link.connections) {
        if (!is_cut(connection.from)) pass_on(link.way, connection);
    }
    std::erase_if(link.connections, [](const Connection& connection) {
        return connection.request.told && connection.reply.told;
    });
}

void PeerNetwork::pass_on(const Way& way, Connection& connection) {
    const auto read = [](const Socket& from, Flow& flow) {
        if (flow.ended || !flow.bytes.empty()) return;
        char buffer[64 * 1024];
        const ssize_t count = recv(from.get(), buffer, sizeof buffer, 0);
        if (count > 0) flow.bytes.assign(buffer, static_cast<std::size_t>(count));
        flow.ended = count == 0 || has_failed(count);
    };
    const auto write = [](const Socket& to, Flow& flow) {
        const ssize_t sent = send(to.get(), flow.bytes.data(), flow.bytes.size(), MSG_NOSIGNAL);
        if (has_failed(sent)) flow = {.ended = true};
        if (sent > 0) flow.bytes.erase(0, static_cast<std::size_t>(sent));
        if (!flow.ended || !flow.bytes.empty() || flow.told) return;
        shutdown(to.get(), SHUT_WR);
        flow.told = true;
    };
    read(connection.client, connection.request);
    greet(way, connection);
    if (is_cut(connection.from)) return;
    write(connection.server, connection.request);
    read(connection.server, connection.reply);
    write(connection.client, connection.reply);
}

void PeerNetwork::greet(const Way& way, Connection& connection) {
    std::string& greeting = connection.request.bytes;
    if (greeting.empty() || std::exchange(connection.has_greeted, true)) return;
    if (greeting_) connection.from = greeting_(way, greeting);
}

}  // namespace holdfast::test
