#include "stores/redlock/waiting.hpp"

#include <utility>

#include "stores/scripted/news.hpp"

namespace holdfast::inline v0::redlock {

namespace {

using State = Standing::State;

/// What one node pushes.
class Ear final : public RedlockWire::Listener {
public:
    Ear(std::weak_ptr<const void> store, Waiting& waiting)
        : store_(std::move(store)), waiting_(waiting) {}
    void missed() override {
        if (const auto store = store_.lock()) waiting_.missed();
    }
    void pushed(const redis::Reply& message) override {
        if (const auto store = store_.lock()) waiting_.pushed(message);
    }

private:
    const std::weak_ptr<const void> store_;
    Waiting& waiting_;
};

}  // namespace

void Waiting::begin(const std::weak_ptr<const void>& store) {
    for (std::size_t i = 0; i < wire_.nodes(); ++i) {
        ears_.push_back(std::make_shared<Ear>(store, *this));
    }
}

bool Waiting::hears_enough() const {
    std::size_t heard = 0;
    for (std::size_t i = 0; i < wire_.nodes(); ++i) heard += wire_.hears(i) ? 1 : 0;
    return heard >= terms_.majority();
}

/// A call that one node makes is made by the others too: while a majority is heard, nobody relies
/// on one alone.
void Waiting::missed() {
    {
        const std::lock_guard guard(mutex_);
        const bool hears = hears_enough();
        if (hears && period_ != 0) return;
        period_ = hears ? ++periods_ : 0;
    }
    scripted::News look{.standing = {.state = State::waiting}};
    for (const Ticket& ticket : waiters_.watched()) look.nonces.push_back(ticket.nonce);
    waiters_.tell(look);
}

/// ["message", channel, whom it concerns and what]
void Waiting::pushed(const redis::Reply& message) {
    if (message.elements.size() != 3 || message.elements[0].text != "message") return;
    const auto news = scripted::news_in(message.elements[2].text);
    for (const Nonce& nonce : news.nonces) {
        const auto candidate = candidates_.find(nonce);
        if (!candidate) continue;
        const auto lock = candidates_.lock();
        candidate->has_reason = true;
    }
    waiters_.tell(news);
}

std::unique_ptr<Watch> Waiting::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = waiters_.watch(ticket, std::move(line_moved));
    const std::uint64_t period = period_;
    if (period == 0) {
        // Once a majority is heard, everybody who waits looks.
        wire_.listen(ears_);
    } else if (waiters_.has_heard_all_in(period, ticket.nonce)) {
        waiters_.tell_what_was_kept(ticket.nonce);
    } else {
        waiters_.tell({.nonces = {ticket.nonce}, .standing = {.state = State::waiting}});
    }
    return watch;
}

}  // namespace holdfast::inline v0::redlock
