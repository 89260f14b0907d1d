#include "stores/net/link.hpp"

#include <poll.h>

#include <algorithm>

namespace holdfast::inline v0::net {

using Outcome = Socket::Outcome;

void Link::open(const Address& address, Moment now, std::size_t first_endpoint) {
    if (state_ != State::down) return;
    // First, for it may fail.
    dial_.emplace(address, resolved_, first_endpoint);
    address_ = &address;
    state_ = State::connecting;
    opened_ = now;
    hopeless_ = false;
}

void Link::close() noexcept {
    if (socket_) socket_->shut_down();
    socket_.reset();
    dial_.reset();
    state_ = State::down;
}

short Link::wanted() const noexcept {
    if (state_ == State::connecting) return socket_ ? socket_->wanted() : short{0};
    return static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT));
}

std::optional<Moment> Link::deadline() const noexcept {
    if (state_ == State::down || state_ == State::ready) return std::nullopt;
    const Moment end = opened_ + address_->connect_timeout;
    const bool may_be_anothers = state_ == State::connecting || suffices_ == Suffices::greeting;
    return may_be_anothers ? std::min(end, dial_->deadline()) : end;
}

std::optional<Failure> Link::advance(Moment now) {
    try {
        return go_on(now);
    } catch (...) {
        close();
        throw;
    }
}

std::optional<Failure> Link::go_on(Moment now) {
    std::optional<Failure> failure;
    if (state_ == State::connecting) failure = connect();
    if (!failure && state_ == State::greeting) failure = greet();
    if (!failure && deadline() && now >= *deadline()) failure = late();
    if (failure && state_ == State::greeting) failure = try_another(*failure);
    if (failure) close();
    return failure;
}

std::optional<Failure> Link::connect() {
    auto failure = dial_->advance();
    socket_ = dial_->socket();
    if (failure) hopeless_ = dial_->is_hopeless();
    if (failure || !dial_->established()) return failure;
    state_ = State::greeting;
    unsent_ = greeting();
    return std::nullopt;
}

std::optional<Failure> Link::greet() {
    if (!unsent_.empty()) {
        const auto transfer = write_all(*socket_, unsent_);
        if (transfer.outcome == Outcome::failed || transfer.outcome == Outcome::closed) {
            return broken(transfer);
        }
        unsent_.erase(0, transfer.bytes);
    }
    return hear_greeting();
}

/// One that has no time for us takes the connection, and closes it or says nothing.
std::optional<Failure> Link::try_another(const Failure& failure) {
    if (suffices_ == Suffices::connection || !dial_->try_another()) return failure;
    // That was the other one's.
    hopeless_ = false;
    state_ = State::connecting;
    return connect();
}

}  // namespace holdfast::inline v0::net
