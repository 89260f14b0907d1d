#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/loopback.hpp"
#include "support/proxy_protocol.hpp"

namespace holdfast::test {

/// What becomes of one request. The replies of earlier ones reach the client in any case.
enum class Verdict {
    pass,
    drop_reply,  ///< the server does it and answers; then, unheard, the connection is cut
    hold,        ///< kept back, with all behind it, until let_pass()
    cut_before,  ///< the server does not get it
    cut_after,   ///< the server gets it, and is not waited for
};

/// Is shown the bytes of a complete request: see words_of(), zookeeper_verb().
using RequestHook = std::function<Verdict(std::string_view request)>;

/// Makes another request of one.
using RequestRewriter = std::function<void(std::string& request)>;

enum class Ending { fin, reset };

/// What goes for all connections of a proxy.
struct ProxyRules {
    bool black_hole = false;
    bool hold_requests = false;
    bool lose_pushes = false;
    std::size_t replies_to_drop = 0;
    std::chrono::milliseconds reply_delay{0};
    std::optional<std::string> garbage = {};
    RequestHook on_request = {};
    RequestRewriter rewrite = {};
};

struct ProxyCounts {
    std::atomic<std::size_t> connections{0};
    std::atomic<std::size_t> requests{0};
    std::atomic<std::size_t> late_replies{0};
    std::atomic<std::size_t> bytes_from_clients{0};
    std::atomic<std::size_t> bytes_from_server{0};
};

/// A client, a server, and what is on its way between them. For one thread, that of its proxy.
class ProxiedConnection {
public:
    using Moment = std::chrono::steady_clock::time_point;

    ProxiedConnection(Socket client, Socket server, std::unique_ptr<ProxyProtocol> protocol,
                      ProxyRules& rules, ProxyCounts& counts)
        : protocol_(std::move(protocol)),
          rules_(rules),
          counts_(counts),
          client_(std::move(client)),
          server_(std::move(server)) {}

    pollfd client_interest() const;
    pollfd server_interest() const;
    /// When something is due that nothing arrives for.
    std::optional<Moment> due() const;

    void read_client();
    void read_server();
    /// Does all that is possible now with what has arrived.
    void advance();

    void let_pass();
    /// The client is gone at once. What was held back still reaches the server when it is let
    /// pass, as bytes do that are on their way.
    void cut(Ending ending);
    void half_close();
    bool is_over() const { return server_ended_ && replies_.empty(); }

private:
    enum class Fate { pass, swallow, replace, cut };
    /// A reply that is to come, and what becomes of it. With Fate::cut none is waited for.
    struct Expected {
        Fate fate = Fate::pass;
        std::string replacement = {};
        bool late = false;  ///< to what was held back
    };
    struct Reply {
        Moment arrived;
        std::string bytes;
    };

    void take_requests();
    void judge_requests();
    void judge(std::string request);
    Verdict verdict_on(const std::string& request);
    Expected passing();
    void forward(const std::string& request, Expected expected);
    void cut_behind_earlier_replies();

    void take_replies();
    void deliver(std::string frame);
    void send_to_client(std::string bytes);

    void flush_to_server();
    void flush_to_client();
    bool is_to_be_cut() const;
    void lose_client();
    void lose_server();
    std::size_t backlog_of_requests() const;
    std::size_t backlog_of_replies() const;

    const std::unique_ptr<ProxyProtocol> protocol_;
    ProxyRules& rules_;
    ProxyCounts& counts_;

    Socket client_;
    std::string from_client_;           // not yet a complete request
    std::deque<std::string> requests_;  // complete, not yet judged, or held back
    bool first_is_judged_ = false;      // the first of them is held back by its verdict
    bool hears_client_ = true;
    bool client_ended_ = false;
    bool awaits_late_replies_ = false;  // to what was let pass when the client had gone

    Socket server_;
    std::string to_server_;
    bool server_told_of_end_ = false;
    bool server_ended_ = false;

    std::deque<Expected> expected_;
    std::string from_server_;  // not yet a complete reply
    std::deque<Reply> replies_;
    bool deaf_ = false;  // the client is told nothing any more
    bool cut_when_quiet_ = false;
    bool opaque_ = false;  // TLS: there are no requests to be seen
};

}  // namespace holdfast::test
