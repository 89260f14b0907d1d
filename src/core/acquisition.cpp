#include "core/acquisition.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;
using State = Standing::State;
using Where = Acquisition::Part::Where;

Acquisition::Acquisition(std::vector<Contender> contenders, bool together)
    : contenders_(std::move(contenders)), parts_(contenders_.size()), together_(together) {
    assert(!contenders_.empty());
}

Acquisition::Action Acquisition::resume(Event event) {
    // What still comes in after the end concerns nobody.
    if (end_ != End::none) return {.what = Do::pass};
    return std::visit([this](auto& one) { return on(one); }, event);
}

std::span<const Contender> Acquisition::to_enter() const {
    return std::span(contenders_).subspan(current_, together_ ? std::dynamic_extent : 1);
}

std::vector<Ticket> Acquisition::leftovers() const {
    std::vector<Ticket> tickets;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].where == Where::perhaps) {
            tickets.push_back({contenders_[i].resource, contenders_[i].nonce, {}});
        } else if (parts_[i].where != Where::outside) {
            tickets.push_back(parts_[i].ticket);
        }
    }
    return tickets;
}

Acquisition::Action Acquisition::on(const Started&) {
    return enter_next();
}

Acquisition::Action Acquisition::enter_next() {
    const std::size_t last = together_ ? parts_.size() : current_ + 1;
    for (std::size_t i = current_; i < last; ++i) parts_[i].where = Where::perhaps;
    answer_due_ = true;
    return {.what = Do::enter};
}

Acquisition::Action Acquisition::on(Entered& event) {
    answer_due_ = false;
    if (!event.result.ok()) {
        if (event.result.failure().effect == Effect::none) {
            for (std::size_t i = current_; i < parts_.size(); ++i) parts_[i].where = Where::outside;
        }
        if (give_up_as_ == End::stopped) return finish(End::stopped);
        return fail(event.result.failure());
    }
    auto& entries = event.result.value();
    const bool refused = entries.back().standing.state == State::gone;
    const std::size_t first = current_;
    for (std::size_t i = first; i < parts_.size(); ++i) parts_[i].where = Where::outside;
    if (refused) {
        if (contenders_[first].patience == Patience::none) return finish(End::busy);
        return put_out();
    }
    for (Entry& entry : entries) {
        parts_[current_].ticket = std::move(entry.ticket);
        if (entry.standing.state != State::admitted) {
            parts_[current_].where = Where::waiting;
            return now_standing(entry.standing);
        }
        admit_current(entry.standing.fence);
    }
    return admitted_so_far();
}

/// All of them, or on to the next: unless its time was up while the answer was on its way.
Acquisition::Action Acquisition::admitted_so_far() {
    if (current_ == parts_.size()) return finish(End::admitted);
    if (give_up_as_ != End::none) return finish(give_up_as_);
    return enter_next();
}

void Acquisition::admit_current(std::uint64_t fence) {
    parts_[current_].where = Where::admitted;
    parts_[current_].fence = fence;
    look_again_.reset();
    ++current_;
}

Acquisition::Action Acquisition::on(const Asked& event) {
    answer_due_ = false;
    if (!event.result.ok()) return wait(retry_delay());
    return now_standing(event.result.value());
}

Acquisition::Action Acquisition::on(const Claimed& event) {
    answer_due_ = false;
    if (!event.result.ok()) return wait(retry_delay());
    return now_standing(event.result.value().front());
}

Acquisition::Action Acquisition::on(const Renewed& event) {
    // It is not renewed any more. Perhaps it is in line all the same, and waits again (see Keeper),
    // so it is taken out; and an answer that is on its way would say nothing better.
    if (event.standing.state == State::gone) return put_out();
    if (event.index != current_) return {.what = Do::pass};
    if (answer_due_) {
        // The answer that is on its way is not older than this by more than a moment: look again
        // after it.
        moved_meanwhile_ = Standing{.state = State::waiting};
        return {.what = Do::pass};
    }
    return now_standing(event.standing);
}

Acquisition::Action Acquisition::now_standing(const Standing& standing) {
    switch (standing.state) {
        case State::admitted:
            admit_current(standing.fence);
            return admitted_so_far();
        case State::offered:
            if (give_up_as_ != End::none) return finish(give_up_as_);
            answer_due_ = true;
            return {.what = Do::claim};
        case State::waiting:
            return wait(standing.look_again);
        case State::gone:
            break;
    }
    parts_[current_].where = Where::outside;
    return put_out();
}

Acquisition::Action Acquisition::wait(std::optional<std::chrono::nanoseconds> look_again) {
    if (give_up_as_ != End::none) return finish(give_up_as_);
    // No look is put off by what is heard after it.
    if (!look_again || (look_again_ && *look_again_ < *look_again)) look_again = look_again_;
    look_again_.reset();
    if (moved_meanwhile_) {
        look_again_ = look_again;
        return look_at(*std::exchange(moved_meanwhile_, std::nullopt));
    }
    return {.what = Do::wait, .look_again = look_again};
}

Acquisition::Action Acquisition::on(const Moved& event) {
    if (answer_due_) {
        moved_meanwhile_ = event.standing;
        return {.what = Do::pass};
    }
    return look_at(event.standing);
}

Acquisition::Action Acquisition::look_at(const Standing& pushed) {
    // It became the stand-by, and was told how long nothing can be learnt by asking.
    if (pushed.state == State::waiting && pushed.look_again) return wait(pushed.look_again);
    answer_due_ = true;
    // What is pushed is a hint: it has no send to count a deadline from.
    return {.what = pushed.state == State::offered ? Do::claim : Do::ask};
}

Acquisition::Action Acquisition::on(const Overdue& event) {
    const std::string said = event.said.empty() ? "" : " (" + event.said + ")";
    return put_out(Failure{errc::unreachable, Effect::unknown,
                           "the store was not heard of while it stood in line" + said +
                               "; acquire again when the store answers"});
}

Acquisition::Action Acquisition::on(const TimeUp&) {
    return give_up(End::busy);
}
Acquisition::Action Acquisition::on(const Stopped&) {
    return give_up(End::stopped);
}
Acquisition::Action Acquisition::on(const Unanswered&) {
    return finish(End::stopped);
}

Acquisition::Action Acquisition::give_up(End end) {
    if (!answer_due_) return finish(end);
    // The answer under way may still be the admission.
    if (give_up_as_ != End::stopped) give_up_as_ = end;
    return {.what = Do::pass};
}

Acquisition::Action Acquisition::finish(End end) {
    end_ = end;
    return {.what = Do::finish};
}

Acquisition::Action Acquisition::fail(Failure failure) {
    failure_ = std::move(failure);
    return finish(End::failed);
}

Acquisition::Action Acquisition::put_out(std::optional<Failure> why) {
    failure_ = std::move(why);
    return finish(End::put_out);
}

std::chrono::nanoseconds Acquisition::retry_delay() const {
    return std::clamp<std::chrono::nanoseconds>(contenders_[current_].lease / 12, 10ms, 1s);
}

}  // namespace holdfast::inline v0::core
