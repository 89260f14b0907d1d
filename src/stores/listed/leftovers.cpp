#include "stores/listed/leftovers.hpp"

namespace holdfast::inline v0::listed {

namespace {

using namespace std::chrono_literals;

/// How often a removal is made again.
constexpr auto removal_interval = 500ms;
/// Beyond that nodes stay until their session ends.
constexpr std::size_t most_kept = 65536;

}  // namespace

void Leftovers::add_under_way(const Leftover& leftover) {
    keep({.leftover = leftover, .under_way = true});
}

void Leftovers::add(const Leftover& leftover) {
    keep({.leftover = leftover});
}

void Leftovers::keep(const Kept& kept) {
    const std::lock_guard guard(mutex_);
    if (kept_.size() >= most_kept) return;
    kept_.insert_or_assign(kept.leftover.incarnation.node, kept);
}

std::vector<Leftover> Leftovers::take_due(Moment now) {
    std::vector<Leftover> due;
    const std::lock_guard guard(mutex_);
    for (auto& [node, one] : kept_) {
        if (one.under_way || now < one.next) continue;
        one.under_way = true;
        due.push_back(one.leftover);
    }
    return due;
}

void Leftovers::settled(const Leftover& leftover) {
    const std::lock_guard guard(mutex_);
    if (const auto found = find(leftover); found != kept_.end()) kept_.erase(found);
}

void Leftovers::unanswered(const Leftover& leftover, Moment now) {
    const std::lock_guard guard(mutex_);
    const auto found = find(leftover);
    if (found == kept_.end()) return;
    found->second.under_way = false;
    found->second.next = now + removal_interval;
}

/// Another one may have the name by now, and have been left too.
Leftovers::ByNode::iterator Leftovers::find(const Leftover& leftover) {
    const auto found = kept_.find(leftover.incarnation.node);
    if (found == kept_.end()) return found;
    const bool same = found->second.leftover.incarnation.made_by == leftover.incarnation.made_by;
    return same ? found : kept_.end();
}

}  // namespace holdfast::inline v0::listed
