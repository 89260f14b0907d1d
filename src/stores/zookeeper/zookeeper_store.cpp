#include "stores/zookeeper/zookeeper_store.hpp"

#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

std::shared_ptr<Store> open_zookeeper(const StoreUrl& url) {
    const auto protocol = std::make_shared<Protocol>(ensemble_of(url));
    protocol->connect();
    return listed::store_on(protocol);
}

}  // namespace holdfast::inline v0::zookeeper
