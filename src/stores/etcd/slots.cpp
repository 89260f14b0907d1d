#include "stores/etcd/slots.hpp"

namespace holdfast::inline v0::etcd {

std::uint64_t Slots::take(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto [place, is_new] = taken_.try_emplace(nonce, 0);
    if (!is_new) return place->second;
    place->second = free_.empty() ? next_++ : free_.extract(free_.begin()).value();
    return place->second;
}

void Slots::give_back(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    const auto found = taken_.find(nonce);
    if (found == taken_.end()) return;
    free_.insert(found->second);
    taken_.erase(found);
}

void Slots::retire(const Nonce& nonce) {
    const std::lock_guard guard(mutex_);
    taken_.erase(nonce);
}

}  // namespace holdfast::inline v0::etcd
