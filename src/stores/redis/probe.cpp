#include "stores/redis/probe.hpp"

#include <utility>

#include "stores/redis/command.hpp"

namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

/// What is lost with a connection unnoticed is made up for after this and the time limit of a
/// request.
constexpr auto interval = 2s;
/// Who leads asks sooner than that.
constexpr auto overlooked = 100ms;
/// For what has come meanwhile to be read.
constexpr auto last_chance = 50ms;

}  // namespace

void Probe::heard(Moment now) {
    next_ = now + interval;
    overdue_.reset();
    had_last_chance_ = false;
}

void Probe::end() {
    heard(Moment::max() - interval);
    unsent_.clear();
    unanswered_ = 0;
}

bool Probe::is_overlooked(Moment now) const noexcept {
    return !overdue_ && next_ != Moment::max() && now >= next_ + overlooked;
}

void Probe::ask(Moment now) {
    Command{"PING"}.append_to(unsent_);
    ++unanswered_;
    if (!overdue_) overdue_ = now + patience_;
}

void Probe::answered() noexcept {
    if (unanswered_ > 0) --unanswered_;
}

bool Probe::go_on(const Link& link, Moment now) {
    if (overdue_ && now >= *overdue_) {
        // Nobody may have looked at the connection since it was asked.
        if (std::exchange(had_last_chance_, true)) return false;
        overdue_ = now + last_chance;
    }
    if (!overdue_ && now >= next_) ask(now);
    if (!unsent_.empty()) unsent_.erase(0, link.socket()->write(unsent_).bytes);
    return true;
}

}  // namespace holdfast::inline v0::redis
