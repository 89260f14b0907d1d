#include "core/departing.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::inline v0::core {

std::uint64_t Departing::begins(const std::string& resource) {
    const std::lock_guard guard(mutex_);
    leaving_.emplace(resource, last_ + 1);
    ++under_way_;
    return ++last_;
}

void Departing::is_over(const std::string& resource, std::uint64_t number) {
    std::list<Waiting> freed;
    {
        const std::lock_guard guard(mutex_);
        if (leaving_.erase({resource, number}) == 0) return;
        --under_way_;
        for (auto next = waiting_.begin(); next != waiting_.end();) {
            const auto one = next++;
            if (!is_among(one->resources, one->last)) freed.splice(freed.end(), waiting_, one);
        }
    }
    for (const Waiting& one : freed) one.go();
}

bool Departing::is_among(const std::vector<std::string>& resources, std::uint64_t last) const {
    return std::ranges::any_of(resources, [this, last](const auto& one) {
        const auto earliest = leaving_.lower_bound({one, 0});
        return earliest != leaving_.end() && earliest->first == one && earliest->second <= last;
    });
}

void Departing::after(std::span<const Contender> contenders, Callback<void()> go) {
    if (!is_idle()) {
        const std::lock_guard guard(mutex_);
        std::vector<std::string> resources;
        for (const Contender& one : contenders) resources.push_back(one.resource);
        if (is_among(resources, last_)) {
            waiting_.push_back({std::move(resources), last_, std::move(go)});
            return;
        }
    }
    go();
}

void Departing::await(std::span<const Contender> contenders, Wire& wire,
                      std::chrono::nanoseconds at_most, const std::stop_token& stop) {
    if (is_idle()) return;
    const auto waiter = std::make_shared<Wire::Waiter>();
    after(contenders, [waiter, &wire] { wire.signal(*waiter); });
    if (wire.wait(*waiter, Moment{})) return;
    refuse_inside_callback();
    const std::stop_callback woken(stop, [&] { wire.signal(*waiter); });
    static_cast<void>(wire.wait(*waiter, BootClock::now() + at_most));
}

}  // namespace holdfast::inline v0::core
