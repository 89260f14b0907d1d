#include "stores/redlock/canvass.hpp"

#include <algorithm>

namespace holdfast::inline v0::redlock {

void Canvass::take(std::size_t node, const Vote& vote) {
    std::unique_lock lock(mutex_);
    if (!told_) return;
    tally_.take(node, vote);
    look(std::move(lock));
}

void Canvass::give_up() {
    std::unique_lock lock(mutex_);
    if (!told_) return;
    tally_.give_up();
    look(std::move(lock));
}

void Canvass::look(std::unique_lock<std::mutex> lock) {
    const Decision decision = tally_.decision();
    if (decision != Decision::open) {
        const Told told = std::exchange(told_, {});
        lock.unlock();
        return told(decision);
    }
    const auto answered = std::ranges::count_if(tally_.votes(), [](const Vote& vote) {
        return vote.kind != Vote::Kind::none && vote.kind != Vote::Kind::silent;
    });
    if (is_waited_for_ || std::cmp_less(answered, desk_.terms().majority())) return;
    is_waited_for_ = true;
    lock.unlock();
    const Moment now = BootClock::now();
    desk_.wire.at(now + grace_after(now - began_), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->give_up();
    });
}

}  // namespace holdfast::inline v0::redlock
