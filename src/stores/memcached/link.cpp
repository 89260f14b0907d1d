#include "stores/memcached/link.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/memcached/failures.hpp"

namespace holdfast::inline v0::memcached {

using net::Socket;
using Outcome = Socket::Outcome;

namespace {

/// Where a password is wanted, the refusal of this says so: a password that is given unasked would
/// be stored as an item.
constexpr const char* question = "version\r\n";

/// A command of old, whose key means nothing.
std::string identification(const net::User& user) {
    const std::string token = user.name + " " + user.password;
    return "set holdfast 0 0 " + std::to_string(token.size()) + "\r\n" + token + "\r\n";
}

}  // namespace

Link::Link(const net::Address& address, const net::User& user, std::function<void()> resolved)
    : address_(address), user_(user), resolved_(std::move(resolved)) {}

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
    return static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT));
}

std::optional<Moment> Link::deadline() const noexcept {
    if (state_ == State::down || state_ == State::ready) return std::nullopt;
    return state_ == State::connecting ? std::min(deadline_, dial_->deadline()) : deadline_;
}

std::optional<Failure> Link::advance(Moment now) {
    std::optional<Failure> failure;
    if (state_ == State::connecting) failure = connect();
    if (!failure && state_ == State::greeting) failure = greet();
    if (!failure && deadline() && now >= deadline_) {
        failure =
            fault(errc::unreachable, state_ == State::greeting
                                         ? "it says nothing; " + other_kinds()
                                         : "no connection in time; check that the server runs");
    }
    if (failure) close();
    return failure;
}

std::optional<Failure> Link::connect() {
    auto failure = dial_->advance();
    socket_ = dial_->socket();
    if (failure) {
        if (dial_->is_hopeless()) failure->code = errc::bad_configuration;
        return failure;
    }
    if (!dial_->established()) return std::nullopt;
    state_ = State::greeting;
    reader_ = ReplyReader();
    identified_ = false;
    unsent_ = question;
    return std::nullopt;
}

std::optional<Failure> Link::greet() {
    if (!unsent_.empty()) {
        const auto transfer = socket_->write(unsent_);
        if (transfer.outcome == Outcome::failed || transfer.outcome == Outcome::closed) {
            return broken(transfer);
        }
        unsent_.erase(0, transfer.bytes);
    }
    return take_greetings();
}

std::optional<Failure> Link::take_greetings() {
    std::vector<Reply> replies;
    auto failure = read_into(replies, &Socket::read);
    for (const Reply& reply : replies) {
        if (auto objection = take_greeting(reply)) return objection;
    }
    return failure;
}

std::optional<Failure> Link::take_greeting(const Reply& reply) {
    switch (reply.kind) {
        case Reply::Kind::version:
            if (!user_.name.empty() && !identified_) {
                return fault(errc::bad_configuration,
                             "it asks nobody for a password; leave user and password out, or start "
                             "it with -Y");
            }
            state_ = State::ready;
            return objection_to(reply.text, address_);
        case Reply::Kind::stored:
            unsent_ = question;
            return std::nullopt;
        case Reply::Kind::error:
            return refused(reply.text);
        default:
            return fault(errc::bad_configuration,
                         "it does not speak memcached's protocol; check host and port");
    }
}

/// A line that follows at once would have its answer in place of that to a wrong password.
std::optional<Failure> Link::refused(const std::string& error) {
    if (!wants_password(error) || user_.name.empty() || identified_) {
        return failure_of(error, address_, user_.password);
    }
    identified_ = true;
    unsent_ = identification(user_);
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
            return fault(errc::bad_configuration,
                         std::string("it does not speak memcached's protocol (") + error.what() +
                             "); check host and port");
        }
        // A short read has emptied the socket; what comes next, poll() will tell.
        if (transfer.bytes < buffer.size() && address_.reach != net::Address::Reach::tls) {
            return std::nullopt;
        }
    }
}

/// Who is of another kind says nothing, and hangs up.
Failure Link::broken(const Socket::Transfer& transfer) const {
    if (transfer.outcome != Outcome::closed) {
        return fault(transfer.hopeless ? errc::bad_configuration : errc::unreachable,
                     "the connection broke (" + transfer.why + ")");
    }
    if (state_ == State::ready) return fault(errc::unreachable, "the server closed the connection");
    return fault(errc::unreachable, "it hung up before it said anything; " + other_kinds());
}

/// What it may be that takes a connection and does not answer.
std::string Link::other_kinds() const {
    return address_.reach == net::Address::Reach::tls
               ? "it may not speak TLS, or want a client certificate, see tls_cert"
               : "it may stand still; with -Z it wants memcacheds://, and with -S or -B binary it "
                 "knows no meta commands";
}

Failure Link::fault(errc code, const std::string& why) const {
    return {code, Effect::none, address_.shown() + ": " + why};
}

}  // namespace holdfast::inline v0::memcached
