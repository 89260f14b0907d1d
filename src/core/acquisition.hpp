#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"

namespace holdfast::inline v0::core {

/// The acquisition, as a machine without I/O: enter, wait, and be admitted or leave. A driver tells
/// it what happened (`resume(event)`), does what it answers, and tells it the result. One machine,
/// two drivers: see Contest.
///
/// Several resources are taken in order. Whoever is admitted in the earlier lines and waits in a
/// later one has no ticket beyond that, so nobody waits in a circle.
class Acquisition {
public:
    // What happened.
    struct Started {};
    struct Entered {
        Result<std::vector<Entry>> result;
    };
    struct Asked {
        Result<Standing> result;
    };
    struct Claimed {
        Result<std::vector<Standing>> result;
    };
    /// The store pushed something, or the time to look again has come.
    struct Moved {
        Standing standing;
    };
    /// The keeper renewed the contender at `index`, admitted or waiting.
    struct Renewed {
        std::size_t index = 0;
        Standing standing;
    };
    /// The store was not heard of before the lease of a contender ran out.
    struct Overdue {
        std::string said = {};  ///< by the store, when it was last asked in vain
    };
    struct TimeUp {};
    struct Stopped {};
    /// Whoever was stopped waits for the answer under way no longer.
    struct Unanswered {};
    using Event = std::variant<Started, Entered, Asked, Claimed, Moved, Renewed, Overdue, TimeUp,
                               Stopped, Unanswered>;

    // What to do.
    enum class Do : std::uint8_t {
        enter,   ///< the contenders in to_enter()
        ask,     ///< for the standing of waiting()
        claim,   ///< renew waiting()
        wait,    ///< for an event, and tell Moved after look_again at the latest
        pass,    ///< nothing: the answer to an earlier action is still to come
        finish,  ///< see end()
    };
    struct Action {
        Do what = Do::pass;
        std::optional<std::chrono::nanoseconds> look_again = std::nullopt;
    };

    enum class End : std::uint8_t {
        none,
        admitted,
        busy,
        stopped,
        failed,
        /// It lost its place while it waited, or cannot trust it any more. It holds nothing:
        /// whoever has patience left comes again.
        put_out,
    };

    /// How far one contender has come.
    struct Part {
        enum class Where : std::uint8_t {
            outside,
            perhaps,
            waiting,
            admitted
        } where = Where::outside;
        Ticket ticket{};  ///< as the store answered
        std::uint64_t fence = 0;
    };

    /// `together`: the store enters several contenders in one request.
    Acquisition(std::vector<Contender> contenders, bool together);

    Action resume(Event event);

    const std::vector<Contender>& contenders() const { return contenders_; }
    /// After the end, for whoever comes again.
    std::vector<Contender> take_contenders() { return std::move(contenders_); }
    std::span<const Contender> to_enter() const;
    const Ticket& waiting() const { return parts_[current_].ticket; }
    std::size_t waiting_index() const { return current_; }
    const std::vector<Part>& parts() const { return parts_; }
    End end() const { return end_; }
    /// Why it ended, of an end that failed; also of one that was put out, if that is more than
    /// being gone.
    const std::optional<Failure>& failure() const { return failure_; }
    /// Whatever may be in line and must be taken out after an end other than admitted.
    std::vector<Ticket> leftovers() const;

private:
    Action on(const Started& event);
    Action on(Entered& event);
    Action on(const Asked& event);
    Action on(const Claimed& event);
    Action on(const Moved& event);
    Action on(const Renewed& event);
    Action on(const Overdue& event);
    Action on(const TimeUp& event);
    Action on(const Stopped& event);
    Action on(const Unanswered& event);

    Action enter_next();
    Action admitted_so_far();
    Action now_standing(const Standing& standing);
    Action wait(std::optional<std::chrono::nanoseconds> look_again);
    Action look_at(const Standing& pushed);
    Action finish(End end);
    Action fail(Failure failure);
    Action put_out(std::optional<Failure> why = std::nullopt);
    Action give_up(End end);
    void admit_current(std::uint64_t fence);
    std::chrono::nanoseconds retry_delay() const;

    std::vector<Contender> contenders_;
    std::vector<Part> parts_;  ///< one for each
    bool together_;
    std::size_t current_ = 0;
    bool answer_due_ = false;
    std::optional<Standing> moved_meanwhile_;
    /// When it was to look again by an answer that it did not wait after: the next may not say.
    std::optional<std::chrono::nanoseconds> look_again_;
    End give_up_as_ = End::none;
    End end_ = End::none;
    std::optional<Failure> failure_;
};

}  // namespace holdfast::inline v0::core
