#include "stores/redlock/canvass.hpp"

#include <vector>

namespace holdfast::inline v0::redlock {

Decision Canvass::take(std::size_t node, const Vote& vote) {
    std::unique_lock lock(mutex_);
    tally_.take(node, vote);
    const Decision decision = tally_.decision();
    if (told_) look(std::move(lock));
    return decision;
}

void Canvass::give_up() {
    std::unique_lock lock(mutex_);
    if (!told_) return;
    tally_.give_up();
    look(std::move(lock));
}

void Canvass::look(std::unique_lock<std::mutex> lock) {
    std::vector<std::size_t> others;
    std::size_t answered = 0;
    for (std::size_t i = 0; i < tally_.votes().size(); ++i) {
        const Vote::Kind kind = tally_.votes()[i].kind;
        if (kind == Vote::Kind::none) others.push_back(i);
        if (kind != Vote::Kind::none && kind != Vote::Kind::silent) ++answered;
    }
    const Decision decision = tally_.decision();
    if (decision != Decision::open && (ends_ == Ends::once_decided || others.empty())) {
        const Told told = std::exchange(told_, {});
        lock.unlock();
        return told(decision);
    }
    if (is_waited_for_ || answered < desk_.terms().majority()) return;
    is_waited_for_ = true;
    lock.unlock();
    const auto grace = grace_for(desk_, others, began_);
    if (grace == grace.zero()) return give_up();
    desk_.wire.at(BootClock::now() + grace, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->give_up();
    });
}

}  // namespace holdfast::inline v0::redlock
