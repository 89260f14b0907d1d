#include "stores/zookeeper/proof.hpp"

#include <algorithm>
#include <cstddef>

namespace holdfast::inline v0::zookeeper {

namespace {
constexpr std::size_t most_unreported = 16;
}

void Proof::made(Moment sent) {
    heard_at_ = std::max(heard_at_, sent);
    unreported_.clear();
}

void Proof::taken_up(Moment sent) {
    unreported_.assign(1, {.sent = sent, .answered = sent - tick_});
}

void Proof::answered(Moment sent, Moment now) {
    // A few for each tick are enough.
    if (!unreported_.empty() && now - unreported_.back().answered < tick_ / 4) return;
    unreported_.push_back({sent, now});
    if (unreported_.size() > most_unreported) unreported_.pop_front();
}

void Proof::answered_by_majority(Moment sent) {
    while (!unreported_.empty() && unreported_.front().answered + tick_ <= sent) {
        heard_at_ = std::max(heard_at_, unreported_.front().sent);
        unreported_.pop_front();
    }
}

}  // namespace holdfast::inline v0::zookeeper
