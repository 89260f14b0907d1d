#include "stores/redis/redis_store.hpp"

#include <holdfast/error.hpp>

namespace holdfast::inline v0::redis {

std::shared_ptr<Store> open_redis(const StoreUrl& url) {
    throw Error(errc::unreachable, url.shown + ": this store is not written yet");
}

}  // namespace holdfast::inline v0::redis
