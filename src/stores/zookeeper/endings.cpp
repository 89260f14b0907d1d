#include "stores/zookeeper/endings.hpp"

namespace holdfast::inline v0::zookeeper {

bool Endings::begins(const listed::Incarnation& place, Ended ended) {
    const std::lock_guard guard(mutex_);
    auto& waiting = waiting_[{place.node, place.made_by}];
    waiting.push_back(std::move(ended));
    return waiting.size() == 1;
}

std::vector<Endings::Ended> Endings::is_over(const listed::Incarnation& place) {
    const std::lock_guard guard(mutex_);
    auto found = waiting_.extract({place.node, place.made_by});
    return found ? std::move(found.mapped()) : std::vector<Ended>{};
}

}  // namespace holdfast::inline v0::zookeeper
