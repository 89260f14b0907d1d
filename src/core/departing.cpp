#include "core/departing.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "port/wire.hpp"

namespace holdfast::inline v0::core {

void Departing::begins(const std::string& resource) {
    const std::lock_guard guard(mutex_);
    ++leaving_[resource];
    ++under_way_;
}

void Departing::is_over(const std::string& resource) {
    std::list<Waiting> freed;
    {
        const std::lock_guard guard(mutex_);
        const auto found = leaving_.find(resource);
        if (found == leaving_.end()) return;
        --under_way_;
        if (--found->second > 0) return;
        leaving_.erase(found);
        for (auto next = waiting_.begin(); next != waiting_.end();) {
            const auto one = next++;
            if (!is_among(one->resources)) freed.splice(freed.end(), waiting_, one);
        }
    }
    for (const Waiting& one : freed) one.go();
}

bool Departing::is_among(const std::vector<std::string>& resources) const {
    return std::ranges::any_of(resources,
                               [this](const auto& one) { return leaving_.contains(one); });
}

void Departing::after(std::span<const Contender> contenders, Callback<void()> go) {
    if (!is_idle()) {
        const std::lock_guard guard(mutex_);
        std::vector<std::string> resources;
        for (const Contender& one : contenders) resources.push_back(one.resource);
        if (is_among(resources)) {
            waiting_.push_back({std::move(resources), std::move(go)});
            return;
        }
    }
    go();
}

void Departing::await(std::span<const Contender> contenders, std::chrono::nanoseconds at_most) {
    if (is_idle()) return;
    const auto gone = std::make_shared<std::promise<void>>();
    const auto answered = gone->get_future();
    after(contenders, [gone] { gone->set_value(); });
    if (answered.wait_for(std::chrono::seconds{0}) == std::future_status::ready) return;
    refuse_inside_callback();
    static_cast<void>(answered.wait_for(at_most));
}

}  // namespace holdfast::inline v0::core
