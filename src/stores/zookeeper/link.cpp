#include "stores/zookeeper/link.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::zookeeper {

using Outcome = net::Socket::Outcome;

void Link::open(const net::Address& address, std::string greeting, Moment now,
                std::size_t first_endpoint) {
    if (state_ != State::down) return;
    address_ = &address;
    state_ = State::connecting;
    opened_ = now;
    hopeless_ = false;
    greeting_ = std::move(greeting);
    dial_.emplace(address, resolved_, first_endpoint);
}

void Link::close() noexcept {
    if (socket_) socket_->shut_down();
    socket_.reset();
    dial_.reset();
    state_ = State::down;
}

short Link::wanted() const noexcept {
    if (state_ == State::connecting) return socket_ ? socket_->wanted() : short{0};
    return static_cast<short>(POLLIN | (unsent_greeting_.empty() ? 0 : POLLOUT));
}

std::optional<Moment> Link::deadline() const noexcept {
    if (state_ == State::down || state_ == State::ready) return std::nullopt;
    return std::min(opened_ + address_->connect_timeout, dial_->deadline());
}

std::optional<Failure> Link::advance(Moment now) {
    std::optional<Failure> failure;
    if (state_ == State::connecting) failure = connect();
    if (!failure && state_ == State::greeting) failure = greet();
    if (!failure && deadline() && now >= *deadline()) {
        failure = broken(state_ == State::greeting
                             ? "no session in time; it may have no majority, see its log"
                             : "no connection in time; check that the server runs");
    }
    if (failure && state_ == State::greeting) failure = try_another(*failure);
    if (failure) close();
    return failure;
}

/// A server without a majority takes the connection, and closes it or says nothing.
std::optional<Failure> Link::try_another(const Failure& failure) {
    if (!dial_->try_another()) return failure;
    // That was the other one's.
    hopeless_ = false;
    state_ = State::connecting;
    return connect();
}

std::optional<Failure> Link::connect() {
    auto failure = dial_->advance();
    socket_ = dial_->socket();
    if (failure) hopeless_ = dial_->is_hopeless();
    if (failure || !dial_->established()) return failure;
    state_ = State::greeting;
    unsent_greeting_ = greeting_;
    reader_ = FrameReader();
    return std::nullopt;
}

std::optional<Failure> Link::greet() {
    if (!unsent_greeting_.empty()) {
        const auto transfer = net::write_all(*socket_, unsent_greeting_);
        if (transfer.outcome == Outcome::failed) {
            return broken("the connection broke (" + transfer.why + ")");
        }
        unsent_greeting_.erase(0, transfer.bytes);
    }
    auto failure = read_socket();
    // Others write to a ready link, and must not come into the middle of the greeting.
    if (!unsent_greeting_.empty()) return failure;
    try {
        if (const auto record = reader_.next()) {
            session_ = session_answer(*record);
            state_ = State::ready;
            return std::nullopt;
        }
    } catch (const Error& error) {
        hopeless_ = true;
        return broken(std::string("it does not speak ZooKeeper's protocol (") + error.what() +
                      "); check host and port");
    }
    return failure;
}

std::optional<Failure> Link::receive(std::vector<std::string>& records) {
    auto failure = read_socket();
    try {
        while (auto record = reader_.next()) records.push_back(*std::move(record));
    } catch (const Error& error) {
        return broken(std::string("it does not speak ZooKeeper's protocol (") + error.what() + ")");
    }
    return failure;
}

std::optional<Failure> Link::read_socket() {
    std::array<char, 16384> buffer;
    for (;;) {
        const auto transfer = socket_->read(buffer.data(), buffer.size());
        if (transfer.outcome == Outcome::would_block) return std::nullopt;
        if (transfer.outcome == Outcome::closed) {
            return broken("the server closed the connection; it may have no majority, see its log");
        }
        if (transfer.outcome == Outcome::failed) {
            return broken("the connection broke (" + transfer.why + ")");
        }
        reader_.feed({buffer.data(), transfer.bytes});
        // A short read has emptied the socket; what comes next, poll() will tell.
        const bool tls = address_->reach == net::Address::Reach::tls;
        if (transfer.bytes < buffer.size() && !tls) return std::nullopt;
    }
}

Failure Link::broken(const std::string& why) const {
    return {errc::unreachable, Effect::none, address_->shown() + ": " + why};
}

}  // namespace holdfast::inline v0::zookeeper
