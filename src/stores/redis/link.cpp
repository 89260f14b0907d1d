#include "stores/redis/link.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

using Outcome = Socket::Outcome;

std::vector<Command> entering(const Address& address) {
    std::vector<Command> greeting;
    if (!address.password.empty()) {
        greeting.push_back(address.user.empty() ? Command{"AUTH", address.password}
                                                : Command{"AUTH", address.user, address.password});
    }
    if (address.database != 0) {
        greeting.push_back({"SELECT", std::to_string(address.database)});
    }
    greeting.push_back({"CLIENT", "SETNAME", "holdfast"});
    return greeting;
}

Link::Link(const Address& address, std::vector<Command> greeting, std::function<void()> resolved)
    : address_(address), greeting_(std::move(greeting)), resolved_(std::move(resolved)) {}

void Link::open(Moment now) {
    if (state_ != State::down) return;
    state_ = State::connecting;
    deadline_ = now + address_.connect_timeout;
    dial_.emplace(address_, resolved_);
}

void Link::close() noexcept {
    if (socket_) socket_->shut_down();
    socket_.reset();
    dial_.reset();
    state_ = State::down;
}

int Link::descriptor() const noexcept {
    return socket_ ? socket_->descriptor() : -1;
}

short Link::wanted() const noexcept {
    if (state_ == State::connecting) return socket_ ? socket_->wanted() : short{0};
    return static_cast<short>(POLLIN | (unsent_greeting_.empty() ? 0 : POLLOUT));
}

std::optional<Moment> Link::deadline() const noexcept {
    if (state_ == State::down || state_ == State::ready) return std::nullopt;
    // Or when it is another address's turn.
    return state_ == State::connecting ? std::min(deadline_, dial_->deadline()) : deadline_;
}

std::optional<Failure> Link::advance(Moment now) {
    std::optional<Failure> failure;
    if (!failure && state_ == State::connecting) failure = connect();
    if (!failure && state_ == State::greeting) failure = greet();
    if (!failure && deadline() && now >= deadline_) {
        failure = fail(errc::unreachable, "no connection in time; check that the server runs");
    }
    return failure;
}

std::optional<Failure> Link::connect() {
    auto failure = dial_->advance();
    socket_ = dial_->socket();
    if (failure) {
        if (dial_->is_hopeless()) failure->code = errc::bad_configuration;
        close();
        return failure;
    }
    if (!dial_->established()) return std::nullopt;
    state_ = State::greeting;
    reader_ = ReplyReader();
    greeted_.clear();
    unsent_greeting_.clear();
    for (const Command& command : greeting_) command.append_to(unsent_greeting_);
    return greet();
}

std::optional<Failure> Link::greet() {
    if (!unsent_greeting_.empty()) {
        const auto transfer = socket_->write(unsent_greeting_);
        if (transfer.outcome == Outcome::failed || transfer.outcome == Outcome::closed) {
            close();
            return hung_up(broken(transfer));
        }
        unsent_greeting_.erase(0, transfer.bytes);
    }
    if (auto failure = read_into(greeted_, &Socket::read)) {
        close();
        return hung_up(*std::move(failure));
    }
    return check_greeting();
}

/// With TLS 1.3 a server looks at the client's certificate when the client believes to be
/// connected already, and what it says then may be lost with the connection.
Failure Link::hung_up(Failure failure) const {
    if (address_.reach == Address::Reach::tls) {
        failure.sentence += address_.tls_cert.empty()
                                ? "; it may want a client certificate, see tls_cert"
                                : "; it may not trust the certificate of tls_cert";
    }
    return failure;
}

std::optional<Failure> Link::check_greeting() {
    for (const Reply& reply : greeted_) {
        if (!reply.is_error() || is_harmless_in_greeting(reply.text)) continue;
        const Failure failure = refusal_of(reply.text, address_);
        close();
        return failure;
    }
    if (greeted_.size() < greeting_.size()) return std::nullopt;
    // What was pushed since then counts as missed, as all before it.
    greeted_.resize(greeting_.size());
    state_ = State::ready;
    return std::nullopt;
}

std::optional<Failure> Link::receive(std::vector<Reply>& replies) {
    return read_into(replies, &Socket::read);
}

std::optional<Failure> Link::await(std::vector<Reply>& replies) {
    return read_into(replies, &Socket::await);
}

std::optional<Failure> Link::read_into(std::vector<Reply>& replies, Read first) {
    std::array<char, 16'384> buffer;
    for (Read read = first;; read = &Socket::read) {
        const auto transfer = (socket_.get()->*read)(buffer.data(), buffer.size());
        if (transfer.outcome == Outcome::would_block) return std::nullopt;
        if (transfer.outcome != Outcome::done) return broken(transfer);
        reader_.feed({buffer.data(), transfer.bytes});
        try {
            while (auto reply = reader_.next()) replies.push_back(*std::move(reply));
        } catch (const Error& error) {
            return Failure{errc::bad_configuration, Effect::none,
                           address_.shown() + ": it does not speak Redis' protocol (" +
                               error.what() + "); check host and port"};
        }
        // A short read has emptied the socket; what comes next, poll() will tell.
        if (transfer.bytes < buffer.size() && address_.reach != Address::Reach::tls) {
            return std::nullopt;
        }
    }
}

Failure Link::fail(errc code, const std::string& why) {
    close();
    return {code, Effect::none, address_.shown() + ": " + why};
}

Failure Link::broken(const Socket::Transfer& transfer) const {
    const bool closed = transfer.outcome == Outcome::closed;
    return {transfer.hopeless ? errc::bad_configuration : errc::unreachable, Effect::none,
            address_.shown() + ": " +
                (closed ? "the server closed the connection"
                        : "the connection broke (" + transfer.why + ")")};
}

}  // namespace holdfast::inline v0::redis
