#include "stores/net/dial.hpp"

#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::net {

using Outcome = Socket::Outcome;

Dial::Dial(const Address& address, std::function<void()> resolved) : address_(address) {
    resolution_.emplace(address_, std::move(resolved));
}

std::optional<Failure> Dial::advance() {
    if (established_) return std::nullopt;
    return socket_ ? connect() : resolve();
}

std::optional<Failure> Dial::resolve() {
    auto found = resolution_->result();
    if (!found) return std::nullopt;
    if (!found->ok()) return found->failure();
    endpoints_ = std::move(*found).value();
    return try_next_endpoint("the host has no address");
}

std::optional<Failure> Dial::try_next_endpoint(const std::string& why) {
    if (endpoints_.empty()) {
        return Failure{errc::unreachable, Effect::none,
                       address_.shown() + ": " + why + "; check that the server runs there"};
    }
    const Endpoint endpoint = endpoints_.front();
    endpoints_.erase(endpoints_.begin());
    try {
        socket_ = connect_to(address_, endpoint);
    } catch (const Error& error) {
        return Failure{static_cast<errc>(error.code().value()), Effect::none, error.what()};
    }
    return connect();
}

std::optional<Failure> Dial::connect() {
    const auto transfer = socket_->establish();
    switch (transfer.outcome) {
        case Outcome::would_block:
            return std::nullopt;
        case Outcome::done:
            established_ = true;
            return std::nullopt;
        case Outcome::closed:
            return try_next_endpoint("the server hung up");
        case Outcome::failed:
            break;
    }
    return try_next_endpoint(transfer.why);
}

}  // namespace holdfast::inline v0::net
