#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <functional>

#include "port/failure.hpp"
#include "stores/net/address.hpp"
#include "stores/net/socket.hpp"

namespace holdfast::inline v0::net {

/// Finds the endpoints of a host without blocking. Numbers and sockets are found at once; a name is
/// looked up on a thread of its own, because the machine's resolver knows no time limit.
class Resolution {
public:
    /// `done` is called, on any thread, when it was not found at once.
    Resolution(const Address& address, std::function<void()> done);

    /// Nothing while it is under way.
    std::optional<Result<std::vector<Endpoint>>> result() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace holdfast::inline v0::net
