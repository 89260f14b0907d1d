#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/wire.hpp"
#include "stores/net/bell.hpp"
#include "stores/net/listening.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/node.hpp"
#include "stores/redlock/nodes.hpp"
#include "stores/redlock/runs.hpp"

namespace holdfast::inline v0::redlock {

/// The connections of one client to independent nodes: each request is for a node by its number,
/// each node pushes by itself, and whoever leads polls them all and reads for everybody.
class RedlockWire final : public Wire {
public:
    using Listener = net::Listener<redis::Reply>;
    using Answered = Callback<void(redis::Answer)>;

    /// `channel` is what the nodes push to.
    RedlockWire(const Nodes& nodes, const std::string& channel);
    ~RedlockWire() override;

    std::size_t nodes() const noexcept { return nodes_.size(); }
    /// Until when whatever begins now is tried.
    Moment until() const { return BootClock::now() + request_timeout_; }
    std::chrono::milliseconds request_timeout() const noexcept { return request_timeout_; }
    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn.
    void submit(std::size_t node, redis::Command command, Answered answered, Moment until);
    /// Whether what is submitted for that node goes out without anybody who leads.
    bool is_connected(std::size_t node) const;
    /// Whether it cannot be reached, or has said nothing for a while: then nobody should wait for
    /// its answer who can do without.
    bool is_in_trouble(std::size_t node) const;
    /// Calls back as a part of a turn, not before that moment; a little later where nobody waits
    /// for anything then.
    void at(Moment moment, Callback<void()> callback);

    /// Opens the second connection to each node and keeps it open. One listener for each node, held
    /// weakly.
    void listen(const std::vector<std::shared_ptr<Listener>>& listeners);
    /// Whether what that node pushes is heard now.
    bool hears(std::size_t node) const noexcept { return listening_[node].period() != 0; }

private:
    using Lock = std::unique_lock<std::mutex>;

    void turn(std::optional<Moment> until, Due& due) override;
    void serve(Moment now, Due& due);
    void look_at_run(std::size_t node, Moment now, Due& due);
    void call_those_due(Moment now, Due& due);
    void take(Due& due);
    void flush_all(Lock& lock);
    void poll_for(std::vector<pollfd>& descriptors) const;
    Moment earliest() const;
    void see_to_the_rest();

    const std::chrono::milliseconds request_timeout_;
    const net::Bell bell_;

    mutable std::mutex mutex_;
    std::uint64_t submitted_ = 0;
    std::vector<std::unique_ptr<redis::Node>> nodes_;  ///< as the URL names them
    Runs runs_;
    std::vector<redis::Listening> listening_;
    std::multimap<Moment, Callback<void()>> alarms_;

    // Of a turn: whoever leads has them to itself.
    std::vector<pollfd> polled_;
    std::vector<redis::Node::TurnedAway> away_;  ///< empty
};

}  // namespace holdfast::inline v0::redlock
