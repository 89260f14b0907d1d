#include "stores/redis/routes.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

Node& Routes::add(const Host& host, Node::Part part) {
    nodes_.push_back(std::make_unique<Node>(common_.servers.node.at(host), common_.pushes, part,
                                            common_.resolved));
    return *nodes_.back();
}

void Routes::retire(Node& node, Due& due) {
    node.dissolve(common_.lobby, due);
    const auto found = std::ranges::find(nodes_, &node, &std::unique_ptr<Node>::get);
    retired_.push_back(std::move(*found));
    nodes_.erase(found);
}

void Routes::attempt_failed(Failure why, Due& due) {
    net::make_room(due, common_.lobby.waiting().size());
    net::finish(common_.lobby.attempt_failed(std::move(why)), due);
}

std::optional<Failure> Routes::leave_alone_for(std::chrono::nanoseconds pause, Node& node,
                                               const Request& request, const std::string& error,
                                               Moment now, Due& due) {
    if (redirection_of(error)) return failure_of(error, node.address());
    node.leave_alone(now + pause, *request.trouble, now, due);
    return std::nullopt;
}

bool Routes::is_nobody_asked() const {
    return std::ranges::none_of(informants_,
                                [](const auto& informant) { return informant->is_asked(); });
}

void Routes::forget_retired() {
    std::erase_if(retired_, [](const auto& node) { return !node->is_pouring(); });
}

namespace {

using namespace std::chrono_literals;

/// One server, whatever it is.
class SingleRoute final : public Routes {
public:
    explicit SingleRoute(Common common)
        : Routes(std::move(common)),
          node_(*nodes_.emplace_back(std::make_unique<Node>(
              common_.servers.named.front(), common_.pushes, Node::Part::any, common_.resolved))) {}

    Node* node_for(Request&) override { return &node_; }
    Node* heard() override { return &node_; }
    bool is_fixed() const override { return true; }
    void go_on(Moment, bool, Due&) override {}
    Moment earliest(bool) const override { return Moment::max(); }

    std::optional<Failure> turned_away(Node& node, Request& request, const std::string& error,
                                       Moment now, Due& due) override {
        return leave_alone_for(50ms, node, request, error, now, due);
    }

private:
    Node& node_;
};

}  // namespace

std::unique_ptr<Routes> single_route(Routes::Common common) {
    return std::make_unique<SingleRoute>(std::move(common));
}

std::unique_ptr<Routes> routes_for(Routes::Common common) {
    switch (common.servers.kind) {
        case Servers::Kind::sentinel:
            return sentinel_routes(std::move(common));
        case Servers::Kind::cluster:
            return cluster_routes(std::move(common));
        case Servers::Kind::single:
            break;
    }
    return single_route(std::move(common));
}

}  // namespace holdfast::inline v0::redis
