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

std::string address(int port) {
    return "127.0.0.1:" + std::to_string(port);
}

Socket make_bell() {
    Socket bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) throw std::system_error(errno, std::generic_category(), "eventfd");
    return bell;
}

bool has_failed(ssize_t count) {
    return count < 0 && errno != EAGAIN && errno != EINTR;
}

}  // namespace

PeerNetwork::PeerNetwork(std::vector<PeerPorts> members)
    : members_(std::move(members)), bell_(make_bell()), cut_(members_.size(), false) {
    for (std::size_t from = 0; from < members_.size(); ++from) {
        for (std::size_t to = 0; to < members_.size(); ++to) {
            if (from == to) continue;
            add_link(from, to, members_[to].quorum);
            add_link(from, to, members_[to].election);
        }
    }
    // Who connects for an election says where it can be reached itself, and is called back there.
    for (Link& each : links_) {
        if (each.target != members_[each.to].election) continue;
        each.own_address = address(members_[each.from].election);
        each.address_to_tell = address(ports(each.to, each.from).election);
    }
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

void PeerNetwork::add_link(std::size_t from, std::size_t to, int target) {
    Link& added = links_.emplace_back(Link{.from = from, .to = to, .target = target});
    added.listener = listen_on(added.port.number());
}

int PeerNetwork::port_of_link(std::size_t from, std::size_t to, int target) const {
    const auto found = std::ranges::find_if(links_, [&](const Link& each) {
        return each.from == from && each.to == to && each.target == target;
    });
    return found->port.number();
}

PeerPorts PeerNetwork::ports(std::size_t from, std::size_t to) const {
    const PeerPorts own = members_.at(to);
    if (from == to) return own;
    return {.quorum = port_of_link(from, to, own.quorum),
            .election = port_of_link(from, to, own.election)};
}

void PeerNetwork::cut(std::size_t member) {
    const std::lock_guard guard(mutex_);
    cut_.at(member) = true;
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
        for (Link& each : links_) {
            if (!is_cut(each)) serve(each);
        }
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
        if (is_cut(each)) continue;
        all.push_back({.fd = each.listener.get(), .events = POLLIN, .revents = 0});
        for (const Connection& connection : each.connections) {
            all.push_back(interest(connection.client, connection.request, connection.reply));
            all.push_back(interest(connection.server, connection.reply, connection.request));
        }
    }
    return all;
}

void PeerNetwork::serve(Link& link) {
    while (Socket client = accept_from(link.listener)) {
        link.connections.push_back(
            {.client = std::move(client), .server = start_connecting(link.target)});
    }
    for (Connection& connection : link.connections) pass_on(link, connection);
    std::erase_if(link.connections, [](const Connection& connection) {
        return connection.request.told && connection.reply.told;
    });
}

void PeerNetwork::pass_on(const Link& link, Connection& connection) {
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
    greet(link, connection);
    write(connection.server, connection.request);
    read(connection.server, connection.reply);
    write(connection.client, connection.reply);
}

/// Otherwise peers would be called back directly, where nothing can be cut.
void PeerNetwork::greet(const Link& link, Connection& connection) {
    std::string& greeting = connection.request.bytes;
    if (greeting.empty() || std::exchange(connection.has_greeted, true)) return;
    if (link.own_address.empty()) return;
    const auto found = greeting.find(link.own_address);
    if (found == std::string::npos) return;
    greeting.replace(found, link.own_address.size(), link.address_to_tell);
    // Before it stands its length, of which only the last byte is not nought.
    greeting[found - 1] = static_cast<char>(link.address_to_tell.size());
}

}  // namespace holdfast::test
