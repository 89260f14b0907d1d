#include <holdfast/client.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/share_life.hpp>
#include <holdfast/version.hpp>

#include "core/context.hpp"
#include "core/lease.hpp"
#include "core/lock.hpp"

namespace holdfast::inline v0 {

namespace {

/// One that holds without a fence of ours: a foreign one, whatever number the server has for it, or
/// anybody where the store has none to give. One that is offered a place has no fence either, and
/// holds nothing.
bool holds_unfenced(const Place& place, const Capabilities& store) {
    return place.foreign || !store.fences;
}

ContenderInfo info(const Place& place, std::uint64_t capacity) {
    return {.owner = place.owner,
            .fence = place.fence,
            .lease_left = place.lease_left,
            .weight = place.weight,
            .capacity = capacity,
            .host = place.host,
            .pid = place.pid,
            .age = place.age,
            .foreign = place.foreign};
}

std::vector<Place> holders_by(const std::vector<Line>& lines, std::string_view resource,
                              std::uint64_t fence, const Capabilities& store) {
    std::vector<Place> holders;
    for (const Line& line : lines) {
        if (line.resource != resource) continue;
        for (const Place& place : line.holders) {
            if (fence == 0 ? holds_unfenced(place, store) : place.fence == fence)
                holders.push_back(place);
        }
    }
    return holders;
}

/// Readers who came beside each other may have one fence, where several nodes give it: it does not
/// say which of them is meant. Those of one owner are one.
void refuse_if_several(std::string_view name, std::uint64_t fence,
                       const std::vector<Place>& holders) {
    const auto is_another = [&](const Place& one) { return one.owner != holders.front().owner; };
    if (fence == 0 || std::ranges::none_of(holders, is_another)) return;
    throw Error(errc::conflict,
                std::string(name) + ": " + std::to_string(holders.size()) +
                    " readers who came at one moment hold it with the fence " +
                    std::to_string(fence) +
                    ", which does not tell them apart; end the process of the one that is meant");
}

/// Ends all that hold it with this fence now; whether there were any.
bool end_holders(const core::Context& context, std::string_view name, std::uint64_t fence) {
    const std::string resource = context.prefix() + std::string(name);
    const auto lines = context.store().look_at(resource).get();
    if (!lines.ok()) core::throw_failure(name, lines.failure());
    bool ended = false;
    const auto holders = holders_by(lines.value(), resource, fence, context.store().capabilities());
    refuse_if_several(name, fence, holders);
    for (const Place& one : holders) {
        const auto stood = context.store().leave(one.ticket).get();
        if (!stood.ok()) core::throw_failure(name, stood.failure());
        if (stood.value().state == Standing::State::admitted) ended = true;
    }
    return ended;
}

ResourceInfo info(const Line& line, std::string_view name, const Capabilities& store) {
    ResourceInfo resource{.name = std::string(name), .holders = {}, .waiters = {}};
    for (const Place& place : line.holders) {
        resource.holders.push_back(info(place, line.capacity));
        resource.holders.back().held = place.fence != 0 || holds_unfenced(place, store);
    }
    for (const Place& place : line.waiters) resource.waiters.push_back(info(place, line.capacity));
    return resource;
}

}  // namespace

Client::Client(std::shared_ptr<core::Context> context) noexcept : context_(std::move(context)) {}

Mutex Client::mutex(std::string name, LockOptions options) const {
    return Mutex(*this, std::move(name), std::move(options));
}

RecursiveMutex Client::recursive_mutex(std::string name, LockOptions options) const {
    return RecursiveMutex(*this, std::move(name), std::move(options));
}

SharedMutex Client::shared_mutex(std::string name, LockOptions options) const {
    return SharedMutex(*this, std::move(name), std::move(options));
}

Semaphore Client::semaphore(std::string name, std::uint32_t capacity, LockOptions options) const {
    return Semaphore(*this, std::move(name), capacity, std::move(options));
}

MultiLock Client::multi_lock(std::vector<std::string> names, LockOptions options) const {
    return MultiLock(*this, std::move(names), std::move(options));
}

std::vector<ResourceInfo> Client::inspect(std::string_view prefix) const {
    context_->refuse_inherited("inspect");
    const auto lines = context_->store().inspect(context_->prefix() + std::string(prefix)).get();
    if (!lines.ok()) core::throw_failure("inspect", lines.failure());
    const Capabilities store = context_->store().capabilities();
    std::vector<ResourceInfo> resources;
    resources.reserve(lines.value().size());
    for (const Line& line : lines.value()) {
        resources.push_back(info(line, context_->name_of(line.resource), store));
    }
    return resources;
}

std::optional<ResourceInfo> Client::look_at(std::string_view name) const {
    context_->refuse_inherited(name);
    core::check_name(std::string(name));
    const std::string resource = context_->prefix() + std::string(name);
    const auto lines = context_->store().look_at(resource).get();
    if (!lines.ok()) core::throw_failure(name, lines.failure());
    const auto line = std::ranges::find(lines.value(), resource, &Line::resource);
    if (line == lines.value().end()) return std::nullopt;
    return info(*line, name, context_->store().capabilities());
}

bool Client::break_hold(std::string_view name, std::uint64_t fence) const {
    context_->refuse_inherited(name);
    core::check_name(std::string(name));
    // A foreign holder that is there afterwards came later.
    if (fence == 0) return end_holders(*context_, name, fence);
    bool broken = false;
    // Again, because another one may have joined the hold meanwhile.
    while (end_holders(*context_, name, fence)) broken = true;
    return broken;
}

std::chrono::milliseconds Client::usual_lease() const {
    context_->refuse_inherited("usual_lease");
    return core::usual_lease(context_->store().capabilities().longest_lease);
}

std::chrono::milliseconds Client::usual_shared_lease() const {
    const auto longest = context_->store().capabilities().longest_shared_lease;
    return std::min(usual_lease(), core::usual_lease(longest));
}

const std::string& Client::owner() const noexcept {
    return context_->owner();
}
const std::string& Client::store() const noexcept {
    return context_->url();
}

int share_life(const Client& client, int pid) {
    const core::Context& context = *core::Context::of(client);
    context.refuse_inherited("share_life");
    return context.store().share_life(pid);
}

void Client::throw_if_lost(const Hold& hold) {
    if (hold.held()) return;
    const std::string fence =
        hold.fence() == 0 ? "" : " (fence " + std::to_string(hold.fence()) + ")";
    throw Error(errc::lost, hold.name() + ": the hold" + fence +
                                " was lost while it was used; another holder may have run, check "
                                "what it guarded");
}

#define HOLDFAST_TEXT(number) #number
#define HOLDFAST_VERSION_TEXT(major, minor, patch) \
    HOLDFAST_TEXT(major) "." HOLDFAST_TEXT(minor) "." HOLDFAST_TEXT(patch)

const char* version() noexcept {
    return HOLDFAST_VERSION_TEXT(HOLDFAST_VERSION_MAJOR, HOLDFAST_VERSION_MINOR,
                                 HOLDFAST_VERSION_PATCH);
}

}  // namespace holdfast::inline v0
