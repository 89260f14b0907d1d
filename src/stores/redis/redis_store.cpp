#include "stores/redis/redis_store.hpp"

#include <utility>

#include <holdfast/error.hpp>

#include "stores/redis/answers.hpp"
#include "stores/redis/checkup.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/listing.hpp"
#include "stores/redis/promises.hpp"
#include "stores/redis/redis_wire.hpp"
#include "stores/scripted/scripted_store.hpp"

namespace holdfast::inline v0::redis {

namespace {

class RedisProtocol {
public:
    using Request = Command;
    using Reply = redis::Reply;
    using Answer = redis::Answer;
    using Message = redis::Reply;
    using Wire = RedisWire;
    using Listing = redis::Listing;

    RedisProtocol(const Servers& servers, std::unique_ptr<Layout> layout)
        : servers_(servers),
          description_(servers.shown()),
          layout_(std::move(layout)),
          answers_(description_, *layout_),
          wire_(servers, layout_->pushes()) {}

    RedisWire& wire() { return wire_; }
    scripted::Waiters& waiters() { return layout_->waiters(); }
    const std::string& description() const { return description_; }
    const Layout& requests() const { return *layout_; }
    Result<Examination> examine() const { return redis::examine(servers_, layout_->pushes()); }
    Capabilities limited(const Capabilities& capabilities) const {
        if (servers_.kind == Servers::Kind::cluster) return on_a_cluster(capabilities);
        if (servers_.kind == Servers::Kind::sentinel) return with_replicas(capabilities);
        return on_one(capabilities);
    }
    const Answers& answers() const { return answers_; }
    Result<Listing> listing(const std::string& prefix) const {
        return Listing::of_all(*layout_, prefix);
    }
    Listing listing_of_one(const std::string& resource) const {
        return Listing::of_one(*layout_, resource);
    }

private:
    const Servers servers_;
    const std::string description_;
    const std::unique_ptr<const Layout> layout_;
    const Answers answers_;
    RedisWire wire_;
};

}  // namespace

std::shared_ptr<Store> open_redis(const StoreUrl& url) {
    const Servers servers = servers_of(url);
    auto layout = layout_of(url);
    if (servers.kind == Servers::Kind::cluster && layout->pushes().tracked) {
        throw Error(errc::bad_configuration,
                    url.shown + ": the layouts of others are for one master at a time; leave the " +
                        "parameter layout out");
    }
    if (servers.node.replicas != Replicas::none && layout->pushes().tracked) {
        throw Error(errc::bad_configuration,
                    url.shown + ": the layouts of others know nothing of replicas that confirm; " +
                        "leave the parameter layout out, or replicas");
    }
    const auto store =
        std::make_shared<scripted::ScriptedStore<RedisProtocol>>(servers, std::move(layout));
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::redis
