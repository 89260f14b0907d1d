#pragma once

#include <cstdint>
#include <utility>

#include "stores/redlock/requests.hpp"

namespace holdfast::inline v0::redlock {

/// What is known of one try at one node, and what is to be done there so that in the end nobody is
/// in who has left: what is sent goes in order by one connection, but copies that were lost with
/// one may be carried out late, and what is refused unheard comes again. No I/O; tests/exploration
/// tries it in every order.
class Presence {
public:
    using Calls = Requests::Calls;

    enum class Entered : std::uint8_t {
        in,
        called,  ///< it is not in, and registered to be called
        out,
    };
    enum class Copies : std::uint8_t {
        none,
        /// Or have come behind its leave: one was lost, or sent after it left, for it was refused
        /// unheard before.
        may_come,
    };
    /// What an answer asks for.
    enum class Then : std::uint8_t { nothing, withdraw };
    /// What one that leaves has to send.
    enum class Leaving : std::uint8_t {
        nothing,         ///< it cannot be there
        is_withdrawing,  ///< nothing more; it may be there still
        sends,
        sends_tombstone,  ///< a copy of its enter may come behind the leave
    };

    void enters() noexcept { entering_ = Entering::under_way; }
    /// Its enter was answered, or given up.
    Then entered(Entered how, Copies copies) noexcept {
        in_doubt_ = in_doubt_ || copies == Copies::may_come;
        entering_ = how == Entered::in ? Entering::in : Entering::no;
        is_registered_ = how == Entered::called;
        return has_left_ && in_doubt_ ? Then::withdraw : Then::nothing;
    }

    /// A renewal has found it not there, while a majority has it.
    void misses() noexcept { is_missing_ = true; }
    /// Whether it is to enter where it was missed: once at a time, and not after it has left.
    bool enters_again() noexcept {
        const bool is_under_way = is_entering_again_ || entering_ == Entering::under_way;
        if (has_left_ || is_under_way) return false;
        is_entering_again_ = std::exchange(is_missing_, false);
        return is_entering_again_;
    }
    /// That was answered, or given up: which says nothing of where it was before, nor of who calls.
    Then entered_again(Entered how, Copies copies) noexcept {
        is_entering_again_ = false;
        in_doubt_ = in_doubt_ || copies == Copies::may_come;
        if (how == Entered::in) entering_ = Entering::in;
        return has_left_ && in_doubt_ ? Then::withdraw : Then::nothing;
    }

    Leaving leave(Calls calls) noexcept {
        has_left_ = true;
        const bool unregisters = is_registered_ && calls == Calls::made;
        if (unregisters) is_registered_ = false;
        if (is_withdrawing_) return Leaving::is_withdrawing;
        if (!may_be_in() && !unregisters) return Leaving::nothing;
        return in_doubt_ ? Leaving::sends_tombstone : Leaving::sends;
    }
    /// Its leave was carried out.
    void left() noexcept { is_out(); }
    /// Its leave was not answered.
    Then leave_failed() const noexcept { return may_be_in() ? Then::withdraw : Then::nothing; }

    /// Whether that is to be begun: once at a time.
    bool begins_withdrawal() noexcept { return !std::exchange(is_withdrawing_, true); }
    /// It was carried out: what may still come is refused.
    void withdrew() noexcept {
        is_withdrawing_ = false;
        in_doubt_ = false;
        is_out();
    }
    void gives_up_withdrawal() noexcept { is_withdrawing_ = false; }

    bool may_be_in() const noexcept {
        return entering_ != Entering::no || is_entering_again_ || in_doubt_;
    }
    bool is_in() const noexcept { return entering_ == Entering::in; }

    auto operator<=>(const Presence&) const = default;

private:
    enum class Entering : std::uint8_t { no, under_way, in };

    void is_out() noexcept {
        if (entering_ == Entering::in) entering_ = Entering::no;
    }

    Entering entering_ = Entering::no;
    bool is_missing_ = false;
    bool is_entering_again_ = false;
    bool has_left_ = false;
    /// A copy of its enter may be carried out behind its leave.
    bool in_doubt_ = false;
    bool is_registered_ = false;
    bool is_withdrawing_ = false;
};

}  // namespace holdfast::inline v0::redlock
