#include "stores/etcd/turnstile.hpp"

#include <utility>

namespace holdfast::inline v0::etcd {

void Turnstile::enter(const std::string& line, Callback<void()> go) {
    {
        const std::lock_guard guard(mutex_);
        const auto [place, free] = waiting_.try_emplace(line);
        if (!free) return place->second.push_back(std::move(go));
    }
    go();
}

void Turnstile::is_through(const std::string& line) {
    Callback<void()> next;
    {
        const std::lock_guard guard(mutex_);
        const auto found = waiting_.find(line);
        if (found->second.empty()) {
            waiting_.erase(found);
            return;
        }
        next = std::move(found->second.front());
        found->second.pop_front();
    }
    next();
}

}  // namespace holdfast::inline v0::etcd
