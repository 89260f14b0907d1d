#include "stores/redlock/founding.hpp"

namespace holdfast::inline v0::redlock {

Pending<std::size_t> Founding::begin() {
    for (std::size_t i = 0; i < desk_.terms().nodes; ++i) look(i, "0");
    return Pending<std::size_t>({shared_from_this(), &flight_});
}

void Founding::look(std::size_t node, const std::string& cursor) {
    desk_.wire.submit(
        node, desk_.requests.scan_all(cursor),
        [self = shared_from_this(), node](const redis::Answer& answer) {
            if (const auto store = self->desk_.store.lock()) self->looked(node, answer);
        },
        desk_.wire.until());
}

void Founding::looked(std::size_t node, const redis::Answer& answer) {
    if (!answer.result.ok()) return done(answer.result.failure(), &Founding::mark_all);
    const auto& parts = answer.result.value().elements;
    if (parts.size() == 2 && !parts[1].elements.empty()) {
        return done(refusal(node, parts[1].elements.front().text), &Founding::mark_all);
    }
    if (parts.size() == 2 && parts[0].text != "0") return look(node, parts[0].text);
    done(std::nullopt, &Founding::mark_all);
}

Failure Founding::refusal(std::size_t node, const std::string& key) const {
    return {errc::conflict, Effect::none,
            desk_.description + ": node " + std::to_string(node + 1) + " has the key " + key +
                ", so the set is not new; its nodes count by themselves once they have run for "
                "max_lease"};
}

void Founding::mark_all() {
    {
        const std::lock_guard guard(mutex_);
        due_ = desk_.terms().nodes;
    }
    for (std::size_t i = 0; i < desk_.terms().nodes; ++i) {
        desk_.wire.submit(
            i, desk_.requests.mark(),
            [self = shared_from_this()](const redis::Answer& answer) {
                const auto store = self->desk_.store.lock();
                if (!store) return;
                std::optional<Failure> failure;
                if (!answer.result.ok()) failure = answer.result.failure();
                self->done(std::move(failure), &Founding::finish);
            },
            desk_.wire.until());
    }
}

/// With one of the nodes; `then` comes after the last of them.
void Founding::done(std::optional<Failure> failure, void (Founding::*then)()) {
    {
        const std::lock_guard guard(mutex_);
        if (failure) failure_ = std::move(failure);
        if (--due_ > 0) return;
        if (failure_) then = &Founding::finish;
    }
    (this->*then)();
}

void Founding::finish() {
    if (failure_) return flight_.complete(*std::move(failure_));
    flight_.complete(desk_.terms().nodes);
}

}  // namespace holdfast::inline v0::redlock
