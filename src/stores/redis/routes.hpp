#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/redis/address.hpp"
#include "stores/redis/informant.hpp"
#include "stores/redis/node.hpp"

namespace holdfast::inline v0::redis {

/// Which node serves a request. Knows all nodes of a store, finds out when others take their place,
/// and decides what becomes of a request that a node turns away.
/// Threads: all members under the lock of the wire; whoever leads alone changes what nodes there
/// are, and forgets one only when nobody sends by it.
class Routes {
public:
    using Due = net::Due;

    /// What all nodes of a store have in common. The lobby must outlive the routes.
    struct Common {
        Servers servers;
        Pushes pushes;
        std::function<void()> resolved;  ///< called on any thread when a name was looked up
        Lobby& lobby;
    };

    explicit Routes(Common common) : common_(std::move(common)) {}
    virtual ~Routes() = default;
    Routes(const Routes&) = delete;
    Routes& operator=(const Routes&) = delete;

    /// Prepares a request that is new: where its keys are.
    virtual void address(Request& /*request*/) const {}
    /// Null while none is known.
    virtual Node* node_for(Request& request) = 0;
    /// The one whose pushes are heard; null while there is none.
    virtual Node* heard() = 0;
    /// That one was lost, or could not be reached.
    virtual void not_heard(Node& /*node*/) {}
    /// Whether it is the same node for ever: then nothing but that node's answer matters.
    virtual bool is_fixed() const { return false; }
    /// Whether whoever would tell that another node is in the place of one is heard. Until it is
    /// again, or there is no hope of that, nothing that nodes answer is taken.
    virtual bool is_sure() const { return true; }

    /// Goes on finding out. Somebody waits for it if there is anything in the lobby, or `wanted`.
    virtual void go_on(Moment now, bool wanted, Due& due) = 0;
    /// A request that a node turned away with this error may be sent again, by what is learnt from
    /// it. Otherwise that is the end of it: why.
    virtual std::optional<Failure> turned_away(Node& node, Request& request,
                                               const std::string& error, Moment now, Due& due) = 0;
    /// When go_on() is to be called, though nothing has come; never: Moment::max().
    virtual Moment earliest(bool wanted) const = 0;

    const std::vector<std::unique_ptr<Node>>& nodes() const noexcept { return nodes_; }
    const std::vector<std::unique_ptr<Informant>>& informants() const noexcept {
        return informants_;
    }

protected:
    Node& add(const Host& host, Node::Part part);
    /// Closes its links. What it was asked waits in the lobby again.
    void retire(Node& node, Due& due);
    /// No node was found, and why: whoever waits for one is told that in the end, or at once.
    void attempt_failed(Failure why, Due& due);
    /// Where one server serves all: the same one is asked again after `pause`. Another may be at
    /// its address by then, or it may be itself again.
    static std::optional<Failure> leave_alone_for(std::chrono::nanoseconds pause, Node& node,
                                                  const Request& request, const std::string& error,
                                                  Moment now, Due& due);
    /// Whether all informants that were asked have answered, or failed to: perhaps at once.
    bool is_nobody_asked() const;
    /// Those that were retired, and that nobody sends by any more.
    void forget_retired();

    const Common common_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::unique_ptr<Informant>> informants_;

private:
    std::vector<std::unique_ptr<Node>> retired_;
};

std::unique_ptr<Routes> single_route(Routes::Common common);
std::unique_ptr<Routes> sentinel_routes(Routes::Common common);
std::unique_ptr<Routes> cluster_routes(Routes::Common common);
/// Those of the kind of servers.
std::unique_ptr<Routes> routes_for(Routes::Common common);

}  // namespace holdfast::inline v0::redis
