#include "stores/redis/redis_store.hpp"

#include <utility>

#include "stores/redis/answers.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/listing.hpp"
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

    RedisProtocol(Address address, std::unique_ptr<Layout> layout)
        : address_(std::move(address)),
          description_(address_.shown()),
          layout_(std::move(layout)),
          answers_(address_, *layout_),
          wire_(address_, layout_->pushes()) {}

    RedisWire& wire() { return wire_; }
    scripted::Waiters& waiters() { return layout_->waiters(); }
    const std::string& description() const { return description_; }
    const Layout& requests() const { return *layout_; }
    const Answers& answers() const { return answers_; }
    Result<Listing> listing(const std::string& prefix) const {
        return Listing::of_all(*layout_, prefix);
    }
    Listing listing_of_one(const std::string& resource) const {
        return Listing::of_one(*layout_, resource);
    }

private:
    const Address address_;
    const std::string description_;
    const std::unique_ptr<const Layout> layout_;
    const Answers answers_;
    RedisWire wire_;
};

}  // namespace

std::shared_ptr<Store> open_redis(const StoreUrl& url) {
    const auto store =
        std::make_shared<scripted::ScriptedStore<RedisProtocol>>(address_of(url), layout_of(url));
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::redis
