#include "stores/redis/link.hpp"

#include <utility>

#include "stores/net/secret.hpp"
#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

std::vector<Command> entering(const Address& address, Part part) {
    std::vector<Command> greeting;
    if (!address.password.empty()) {
        greeting.push_back(address.user.empty() ? Command{"AUTH", address.password}
                                                : Command{"AUTH", address.user, address.password});
    }
    if (address.database != 0) {
        greeting.push_back({"SELECT", std::to_string(address.database)});
    }
    greeting.push_back({"CLIENT", "SETNAME", "holdfast"});
    if (part == Part::master) greeting.push_back({"ROLE"});
    return greeting;
}

Link::Link(const Address& address, std::vector<Command> greeting, std::function<void()> resolved,
           Part part)
    : net::Link(std::move(resolved), Suffices::connection),
      address_(address),
      greeting_(std::move(greeting)),
      part_(part) {}

std::optional<Failure> Link::advance(Moment now) {
    auto failure = net::Link::advance(now);
    if (failure && is_hopeless()) failure->code = errc::bad_configuration;
    return failure;
}

std::string Link::greeting() {
    reader_ = ReplyReader();
    greeted_.clear();
    std::string bytes;
    for (const Command& command : greeting_) command.append_to(bytes);
    return bytes;
}

std::optional<Failure> Link::hear_greeting() {
    auto failure = receive(greeted_);
    // What it said before it hung up says more.
    if (auto refused = refusal()) return refused;
    if (failure) return failure;
    if (greeted_.size() < greeting_.size()) return std::nullopt;
    // What was pushed since then counts as missed, as all before it.
    greeted_.resize(greeting_.size());
    failure = objection();
    if (!failure) be_ready();
    return failure;
}

std::optional<Failure> Link::refusal() const {
    for (const Reply& reply : greeted_) {
        if (!reply.is_error() || is_harmless_in_greeting(reply.text)) continue;
        return refusal_of(reply.text, address_);
    }
    return std::nullopt;
}

/// To what it says that it is: ["master", ...], or another word.
std::optional<Failure> Link::objection() const {
    if (part_ != Part::master) return std::nullopt;
    const Reply& role = greeted_[entering(address_).size()];
    const std::string& is = role.elements.empty() ? role.text : role.elements[0].text;
    if (is == "master") return std::nullopt;
    return fault(errc::unreachable, "it says that it is no master (" +
                                        net::without_secret(is, address_.password) + ")");
}

Failure Link::late() const {
    return fault(errc::unreachable, "no connection in time; check that the server runs");
}

Failure Link::broken(const net::Socket::Transfer& transfer) const {
    const bool closed = transfer.outcome == net::Socket::Outcome::closed;
    Failure failure = fault(transfer.hopeless ? errc::bad_configuration : errc::unreachable,
                            closed ? "the server closed the connection"
                                   : "the connection broke (" + transfer.why + ")");
    // With TLS 1.3 a server looks at the client's certificate when the client believes to be
    // connected already, and what it says then may be lost with the connection.
    if (!ready() && address_.reach == Address::Reach::tls) {
        failure.sentence += address_.tls_cert.empty()
                                ? "; it may want a client certificate, see tls_cert"
                                : "; it may not trust the certificate of tls_cert";
    }
    return failure;
}

}  // namespace holdfast::inline v0::redis
