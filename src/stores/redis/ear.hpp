#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "stores/net/listening.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/probe.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

using Listening = net::Listening<Reply>;

/// The connection by which a server pushes, made while somebody listens. What is heard, and that it
/// is not, goes to a Listening.
/// Threads: as of a Node.
class Ear {
public:
    using Due = net::Due;
    enum class Hearing : std::uint8_t {
        goes_on,
        begins,  ///< just now
        lost,    ///< just now
    };

    /// Of what a server of this part publishes there. The address must outlive it.
    Ear(const Address& address, Part part, const std::string& channel,
        const std::function<void()>& resolved);

    bool is_ready() const noexcept { return link_.ready(); }
    /// It is not even sought.
    bool is_deaf() const noexcept { return link_.state() == Link::State::down; }
    /// The server's number for the connection, which is ready.
    std::int64_t number() const;

    /// What is due: connects, and asks for a sign of life. Of one that begins to hear, others tell
    /// the Listening.
    Hearing serve(Moment now, Listening& listening, Due& due);
    void close();

    pollfd awaited() const;
    /// What has come in.
    void read(short events);
    Hearing take(Listening& listening, Due& due);
    /// When the next thing is due by itself; never: Moment::max().
    Moment earliest() const;

private:
    Hearing lost(Moment now, Listening& listening, Due& due);

    Link link_;
    Probe probe_;

    // Of a turn: whoever leads has them to itself.
    std::vector<Reply> messages_;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::redis
