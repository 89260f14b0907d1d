#include "stores/memcached/link.hpp"

#include <utility>

#include "stores/memcached/failures.hpp"

namespace holdfast::inline v0::memcached {

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
    : net::Link(std::move(resolved), Suffices::connection), address_(address), user_(user) {}

std::optional<Failure> Link::advance(Moment now) {
    auto failure = net::Link::advance(now);
    if (failure && is_hopeless()) failure->code = errc::bad_configuration;
    return failure;
}

std::string Link::greeting() {
    reader_ = ReplyReader();
    identified_ = false;
    return question;
}

std::optional<Failure> Link::hear_greeting() {
    std::vector<Reply> replies;
    auto failure = receive(replies);
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
            be_ready();
            return objection_to(reply.text, address_);
        case Reply::Kind::stored:
            say(question);
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
    say(identification(user_));
    return std::nullopt;
}

Failure Link::late() const {
    return fault(errc::unreachable, state() == State::greeting
                                        ? "it says nothing; " + other_kinds()
                                        : "no connection in time; check that the server runs");
}

/// Who is of another kind says nothing, and hangs up.
Failure Link::broken(const net::Socket::Transfer& transfer) const {
    if (transfer.outcome != net::Socket::Outcome::closed) {
        return fault(transfer.hopeless ? errc::bad_configuration : errc::unreachable,
                     "the connection broke (" + transfer.why + ")");
    }
    if (ready()) return fault(errc::unreachable, "the server closed the connection");
    return fault(errc::unreachable, "it hung up before it said anything; " + other_kinds());
}

/// What it may be that takes a connection and does not answer.
std::string Link::other_kinds() const {
    return address_.reach == net::Address::Reach::tls
               ? "it may not speak TLS, or want a client certificate, see tls_cert"
               : "it may stand still; with -Z it wants memcacheds://, and with -S or -B binary it "
                 "knows no meta commands";
}

}  // namespace holdfast::inline v0::memcached
