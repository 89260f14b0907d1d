#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "port/wire.hpp"
#include "stores/net/bell.hpp"
#include "stores/net/listening.hpp"
#include "stores/redis/address.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/node.hpp"
#include "stores/redis/routes.hpp"

namespace holdfast::inline v0::redis {

/// The connections of one client to the servers of a store: however many nodes there are, whoever
/// leads polls them all, and reads for everybody. Which node a request goes to, its Routes know.
///
/// Whatever was under way when a connection breaks, or a node is another's replica all at once, is
/// sent again, where it belongs then, until its time is up: every request of ours may be repeated.
/// The first connection is sought as patiently.
class RedisWire final : public Wire {
public:
    /// Hears what comes by the second connection.
    using Listener = net::Listener<Reply>;
    using Pushes = redis::Pushes;

    RedisWire(Servers servers, Pushes pushes);
    /// To one server.
    RedisWire(Address address, Pushes pushes);
    ~RedisWire() override;

    using Answered = Callback<void(Answer)>;
    /// Sends it, soon; `answered` is called once, as one of the callbacks of a turn.
    void submit(Command command, Answered answered);

    /// Opens the second connection and keeps it open. The listener is held weakly.
    void listen(const std::weak_ptr<Listener>& listener);
    /// Which period of listening without a gap this is; nought while nothing is heard.
    std::uint64_t listening() const noexcept { return listening_.period(); }

private:
    using Lock = std::unique_lock<std::mutex>;

    void turn(std::optional<Moment> until, Due& due) override;
    bool may_await(std::optional<Moment> until) const;
    void await_answer(Lock& lock, Due& due);
    std::optional<Moment> earliest(std::optional<Moment> until) const;
    void serve(Moment now, Due& due);
    void serve_pushes(Moment now, Due& due);
    void send_on(Moment now);
    void flush_all(Lock& lock);
    void poll_for(std::vector<pollfd>& descriptors) const;
    void read(std::span<const pollfd> descriptors);
    void take(Due& due);
    void take_answers(Moment now, Due& due);
    void take_pushes(Due& due);
    void turned_away(Node& node, std::unique_ptr<Request>& request, const std::string& error,
                     Moment now, Due& due);
    void recall();
    void send(Node& node, std::unique_ptr<Request>&& request, Lock& lock);
    bool is_behind_another(const Request& request) const;

    const std::chrono::milliseconds request_timeout_;
    const net::Bell bell_;

    mutable std::mutex mutex_;
    std::uint64_t submitted_ = 0;
    Lobby lobby_;
    net::Listening<Reply> listening_;
    const std::unique_ptr<Routes> routes_;
    Node* heard_ = nullptr;  ///< compared only: it may be gone

    // Of a turn: whoever leads has them to itself.
    std::vector<pollfd> polled_;
    std::vector<Node::TurnedAway> away_;  ///< empty
};

}  // namespace holdfast::inline v0::redis
