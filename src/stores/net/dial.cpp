#include "stores/net/dial.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::net {

using Outcome = Socket::Outcome;

Dial::Dial(const Address& address, std::function<void()> resolved, std::size_t first)
    : address_(address),
      first_(first),
      end_(BootClock::now() + address.connect_timeout),
      deadline_(end_) {
    resolution_.emplace(address_, std::move(resolved));
}

std::optional<Failure> Dial::advance() {
    if (established_) return std::nullopt;
    if (socket_) return connect();
    return endpoints_.empty() ? resolve() : try_next_endpoint("");
}

std::optional<Failure> Dial::resolve() {
    auto found = resolution_->result();
    if (!found) return std::nullopt;
    if (!found->ok()) return found->failure();
    endpoints_ = std::move(*found).value();
    if (auto objection = objection_to_endpoints()) return objection;
    if (!endpoints_.empty()) {
        const auto first = static_cast<std::ptrdiff_t>(first_ % endpoints_.size());
        std::rotate(endpoints_.begin(), endpoints_.begin() + first, endpoints_.end());
    }
    return try_next_endpoint("the host has no address");
}

namespace {

/// A name that is written twice, in /etc/hosts say, has its address twice.
bool are_two_of_a_kind(const Endpoint& one, const Endpoint& other) {
    return one.storage.ss_family == other.storage.ss_family &&
           (one.size != other.size || std::memcmp(&one.storage, &other.storage, one.size) != 0);
}

}  // namespace

std::optional<Failure> Dial::objection_to_endpoints() {
    if (!address_.is_one_server) return std::nullopt;
    const bool several = std::ranges::any_of(endpoints_, [&](const Endpoint& one) {
        return std::ranges::any_of(
            endpoints_, [&](const Endpoint& other) { return are_two_of_a_kind(one, other); });
    });
    if (!several) return std::nullopt;
    hopeless_ =
        "the host's name has several addresses: these are several servers, and two clients may "
        "reach two of them; name each server by itself";
    endpoints_.clear();
    return try_next_endpoint("");
}

std::optional<Failure> Dial::try_next_endpoint(const std::string& why) {
    if (endpoints_.empty()) {
        return Failure{errc::unreachable, Effect::none,
                       address_.shown() + ": " +
                           hopeless_.value_or(why + "; check that the server runs there")};
    }
    const Moment now = BootClock::now();
    deadline_ = now + (end_ - now) / static_cast<std::int64_t>(endpoints_.size());
    const Endpoint endpoint = endpoints_.front();
    endpoints_.erase(endpoints_.begin());
    try {
        socket_ = connect_to(address_, endpoint);
    } catch (const Error& error) {
        // A kind of address that this machine does not have, say.
        if (error.code() == errc::unreachable && !endpoints_.empty()) {
            return try_next_endpoint(error.what());
        }
        return Failure{static_cast<errc>(error.code().value()), Effect::none, error.what()};
    }
    return connect();
}

/// So long that it is another one's turn. Of the last one that is for others to say.
bool Dial::is_silent() const {
    return !endpoints_.empty() && BootClock::now() >= deadline_;
}

bool Dial::try_another() {
    if (endpoints_.empty()) return false;
    established_ = false;
    any_may_mend_ = true;
    socket_.reset();
    return true;
}

std::optional<Failure> Dial::connect() {
    const auto transfer = socket_->establish();
    switch (transfer.outcome) {
        case Outcome::would_block:
            if (!is_silent()) return std::nullopt;
            any_may_mend_ = true;
            return try_next_endpoint("no answer in time");
        case Outcome::done:
            established_ = true;
            return std::nullopt;
        case Outcome::closed:
            any_may_mend_ = true;
            return try_next_endpoint("the server hung up");
        case Outcome::failed:
            // It says more than that another one does not answer.
            if (transfer.hopeless) {
                hopeless_ = transfer.why;
            } else {
                any_may_mend_ = true;
            }
            break;
    }
    return try_next_endpoint(transfer.why);
}

}  // namespace holdfast::inline v0::net
