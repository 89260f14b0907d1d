#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/duration.hpp"
#include "cli/format.hpp"
#include "cli/visible.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// Most waits are over before anybody could read it.
constexpr auto before_first = 300ms;
constexpr auto between_lines = 1s;
/// A look costs the store a request.
constexpr auto between_looks = 2s;
std::string who(const ContenderInfo& holder) {
    return holder.pid == 0 ? holder.owner : formatted("{}:{}", holder.host, holder.pid);
}

}  // namespace

Progress::Progress(const Client& client, const RunOptions& options)
    : client_(client),
      options_(options),
      owner_(options.lock.owner.empty() ? client.owner() : options.lock.owner),
      next_(Clock::now() + before_first) {}

int Progress::milliseconds_to_next() const {
    if (!line_.on_terminal()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Progress::show() {
    if (!line_.on_terminal() || Clock::now() < next_) return;
    next_ = Clock::now() + between_lines;
    if (!in_foreground()) return;
    if (!shown_ || Clock::now() - looked_at_ >= between_looks) look();
    line_.show(sentence());
    shown_ = true;
}

/// Takes in who holds what we wait for. What a store cannot tell is left out.
void Progress::look() {
    looked_at_ = Clock::now();
    seen_ = {};
    for (const std::string& name : options_.names) {
        const auto resource = look_at(name);
        if (resource && take_in(*resource)) return;
    }
}

std::optional<ResourceInfo> Progress::look_at(const std::string& name) const {
    try {
        return client_.look_at(name);
    } catch (const Error&) {
        return std::nullopt;  // the waiting itself will say so
    }
}

/// Whether this is what we wait for.
bool Progress::take_in(const ResourceInfo& resource) {
    const auto own = std::ranges::find_if(resource.waiters, [this](const ContenderInfo& waiter) {
        return waiter.owner == owner_ && waiter.pid == getpid();
    });
    if (own == resource.waiters.end()) return false;
    seen_.name = resource.name;
    seen_.ahead = static_cast<std::size_t>(own - resource.waiters.begin());
    if (resource.holders.empty()) return true;
    seen_.holder = who(resource.holders.front());
    seen_.held_for = resource.holders.front().age;
    return true;
}

std::string Progress::sentence() const {
    std::string text = "waiting for " + (seen_.name.empty() ? options_.all_names() : seen_.name);
    if (!seen_.holder.empty()) text += ", held by " + seen_.holder;
    if (seen_.held_for) {
        const auto now = *seen_.held_for + (Clock::now() - looked_at_);
        text += " for " + show_age(now);
    }
    if (seen_.ahead > 0) text += formatted(", {} ahead of you", seen_.ahead);
    return visible(text);
}

}  // namespace holdfast::cli
