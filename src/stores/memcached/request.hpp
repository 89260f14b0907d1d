#pragma once

#include <cstdint>
#include <utility>

#include "stores/memcached/command.hpp"
#include "stores/memcached/reply.hpp"
#include "stores/net/errand.hpp"

namespace holdfast::inline v0::memcached {

using Answer = net::Answer<Reply>;

/// One request to one server.
struct Request : net::Question<Answer> {
    /// `only_on`: it means something on this connection alone, for it names a version of an item,
    /// and another process of the server counts versions anew; nought: on any.
    Request(Command asked, std::uint64_t connection, Answered told, Moment until)
        : Question(until, std::move(told)), command(std::move(asked)), only_on(connection) {
        if (only_on != 0) when_lost = net::WhenLost::tell;
    }

    const Command command;
    const std::uint64_t only_on;
};

}  // namespace holdfast::inline v0::memcached
