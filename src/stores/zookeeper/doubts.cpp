#include "stores/zookeeper/doubts.hpp"

#include <algorithm>

namespace holdfast::inline v0::zookeeper {

namespace {

using namespace std::chrono_literals;

/// How often a late copy of an enter is looked for.
constexpr auto doubt_interval = 500ms;
/// As long as a request can be late.
constexpr auto burial_time = 1min;

}  // namespace

void Doubts::add(const Nonce& nonce, Doubt doubt, Moment now, std::chrono::milliseconds session) {
    const Moment until = now + (session.count() > 0 ? session : doubt.term);
    const std::lock_guard guard(mutex_);
    doubts_[nonce] = {std::move(doubt), now + doubt_interval, until};
}

std::optional<Term> Doubts::term_of(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = doubts_.find(nonce);
    if (found == doubts_.end()) return std::nullopt;
    return found->second.doubt.term;
}

std::vector<std::pair<Nonce, Doubts::Doubt>> Doubts::take_due(
    Moment now, const std::function<bool(const Nonce&)>& stays) {
    std::vector<std::pair<Nonce, Doubt>> due;
    const std::lock_guard guard(mutex_);
    for (auto& [nonce, one] : doubts_) {
        if (now < one.next) continue;
        one.next = now + doubt_interval;
        due.emplace_back(nonce, one.doubt);
    }
    std::erase_if(doubts_,
                  [&](const auto& one) { return now >= one.second.until && !stays(one.first); });
    return due;
}

void Doubts::bury(const Nonce& nonce, Moment now) {
    const std::lock_guard guard(mutex_);
    std::erase_if(buried_, [&](const auto& one) { return one.second <= now; });
    buried_[nonce] = now + burial_time;
}

bool Doubts::is_buried(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return buried_.contains(nonce);
}

}  // namespace holdfast::inline v0::zookeeper
