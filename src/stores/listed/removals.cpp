#include "stores/listed/removals.hpp"

namespace holdfast::inline v0::listed {

namespace {

using namespace std::chrono_literals;

/// How often a removal is made again.
constexpr auto removal_interval = 500ms;
/// Beyond that nodes stay until their session ends.
constexpr std::size_t most_kept = 65536;

}  // namespace

void Removals::add_under_way(const Removal& removal) {
    keep({.removal = removal, .under_way = true});
}

void Removals::add(const Removal& removal, Moment due) {
    keep({.removal = removal, .next = due});
}

void Removals::keep(const Kept& kept) {
    const std::lock_guard guard(mutex_);
    if (kept_.size() >= most_kept) return;
    kept_.insert_or_assign(kept.removal.incarnation.node, kept);
}

std::vector<Removal> Removals::take_due(Moment now) {
    const auto is_due = [now](const Kept& one) { return !one.under_way && now >= one.next; };
    std::vector<Removal> due;
    const std::lock_guard guard(mutex_);
    for (const auto& [node, one] : kept_) {
        if (is_due(one)) due.push_back(one.removal);
    }
    // Only then, for nothing of this fails.
    for (auto& [node, one] : kept_) one.under_way = one.under_way || is_due(one);
    return due;
}

void Removals::settled(const Removal& removal) {
    const std::lock_guard guard(mutex_);
    if (const auto found = find(removal); found != kept_.end()) kept_.erase(found);
}

void Removals::unanswered(const Removal& removal, Moment now) {
    const std::lock_guard guard(mutex_);
    const auto found = find(removal);
    if (found == kept_.end()) return;
    found->second.under_way = false;
    found->second.next = now + removal_interval;
}

/// Another one may have the name by now, and have been left too.
Removals::ByNode::iterator Removals::find(const Removal& removal) {
    const auto found = kept_.find(removal.incarnation.node);
    if (found == kept_.end()) return found;
    const bool same = found->second.removal.incarnation.made_by == removal.incarnation.made_by;
    return same ? found : kept_.end();
}

}  // namespace holdfast::inline v0::listed
