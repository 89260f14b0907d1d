#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "stores/net/errand.hpp"
#include "stores/net/outbox.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

using Answer = net::Answer<Reply>;

/// One request, and where it goes.
struct Request : net::Question<Answer> {
    Request(Command asked, Answered told, Moment until)
        : Question(until, std::move(told)), command(std::move(asked)) {}

    Command command;
    /// Of its keys; the same for all where there is one node.
    std::uint16_t hash_slot = 0;
    /// The one node that it is for, whoever serves its keys.
    std::optional<Host> only_at = std::nullopt;
    /// That node does not serve the keys yet, and is told that it is asked all the same.
    bool asking = false;
    /// How often a node has named another one for it.
    int redirections = 0;
    /// It turned out that it is too early for it: not before this.
    Moment not_before{};

    /// Whether nobody for the same keys may pass it: it goes to whoever serves them.
    bool goes_by_its_keys() const { return !only_at || asking; }
};

/// Requests that no node is known for, or for which it is too early.
using Lobby = net::Outbox<Request>;

}  // namespace holdfast::inline v0::redis
