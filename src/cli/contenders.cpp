#include "cli/contenders.hpp"

#include <cstdint>

#include "cli/duration.hpp"
#include "cli/format.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* unknown = "-";

/// The capacity of an exclusive or shared lock; a semaphore's is the number of its permits.
constexpr std::uint64_t capacity_of_a_mutex = 1'000'000'000;

Table::Cell state_of_holder(const ContenderInfo& holder) {
    if (!is_held(holder)) return {"offered", Ink::waiting};
    return {"held", Ink::held};
}

}  // namespace

std::vector<Listed> in_order(const ResourceInfo& resource) {
    std::vector<Listed> listed;
    for (const auto& holder : resource.holders) listed.push_back({holder, state_of_holder(holder)});
    for (const auto& waiter : resource.waiters)
        listed.push_back({waiter, {"waiting", Ink::waiting}});
    return listed;
}

bool is_held(const ContenderInfo& holder) {
    return holder.held;
}

std::string show_fence(const ContenderInfo& contender) {
    return contender.fence == 0 ? unknown : formatted("{}", contender.fence);
}

std::string show_lease(const ContenderInfo& contender) {
    const bool endless = contender.foreign && contender.lease_left.count() < 0;
    return endless ? "endless" : show_duration(contender.lease_left);
}

std::string show_owner(const ContenderInfo& contender) {
    return contender.owner.empty() ? unknown : visible(contender.owner);
}

std::string show_share(const ContenderInfo& contender) {
    if (contender.weight == contender.capacity) return "all";
    if (contender.weight == 0) return "joined";
    if (contender.capacity == capacity_of_a_mutex) return "shared";
    return formatted("{} of {}", contender.weight, contender.capacity);
}

std::string show_age(const ContenderInfo& contender) {
    return contender.age ? show_duration(*contender.age) : unknown;
}

std::string show_host(const ContenderInfo& contender) {
    return contender.host.empty() ? unknown : visible(contender.host);
}

std::string show_pid(const ContenderInfo& contender) {
    return contender.pid == 0 ? unknown : formatted("{}", contender.pid);
}

ResourceInfo find(const Client& client, const std::string& name) {
    return client.look_at(name).value_or(ResourceInfo{.name = name, .holders = {}, .waiters = {}});
}

}  // namespace holdfast::cli
