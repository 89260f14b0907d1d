#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "port/failure.hpp"
#include "stores/redlock/canvass.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/redlock/presence.hpp"
#include "stores/redlock/quorum.hpp"

namespace holdfast::inline v0::redlock {

/// One try to hold a lock: enters all nodes under a nonce of its own, holds when they decide so,
/// and leaves all of them, also where its answer was lost. What did not succeed has left when it is
/// told, or is leaving; whoever tries again does so by another one.
/// Threads: all members may be called from any thread.
class Candidacy : public std::enable_shared_from_this<Candidacy> {
public:
    Candidacy(Desk desk, std::shared_ptr<const Profile> profile, Nonce nonce);

    struct Outcome {
        Decision decision = Decision::open;
        std::uint64_t fence = 0;
        Moment sent{};
        /// If nobody gives it back before.
        std::chrono::milliseconds until_free{0};
        std::chrono::nanoseconds flight{0};
        /// A majority has refused what it proposed, for their clocks were set back since the last
        /// answers. By these ones that is known.
        bool proposed_too_much = false;
        /// Why, where too few nodes had a say.
        std::optional<Failure> failure = std::nullopt;
    };
    /// `told` is called once; with Decision::gone when it has left meanwhile, or before: then it
    /// enters nowhere.
    void enter(std::chrono::milliseconds lease, Callback<void(Outcome)> told);
    /// Of one that is in, with that fence. Where it is not, as others were in its way or the node
    /// has lost it, it enters again, as long as a majority has it.
    void renew(const Extension& extension, std::uint64_t fence, Canvass::Told told);
    /// May be repeated. It goes on in the background, until each node has answered where it may be.
    void leave(Requests::Calls calls, Canvass::Told told);

    const Nonce& nonce() const noexcept { return nonce_; }

private:
    using Lock = std::unique_lock<std::mutex>;

    void entered(std::size_t node, const redis::Answer& answer);
    Presence::Then note(Presence& presence, const Vote& vote, const redis::Answer& answer) const;
    void wrote_back(std::size_t node, const redis::Answer& answer);
    void write_back(std::span<const std::size_t> nodes, std::uint64_t fence);
    void go_on(Lock lock);
    void give_up();
    std::vector<std::size_t> unanswered() const;
    void tell(Decision decision, Lock lock);
    Outcome outcome(Decision decision) const;
    Failure too_late() const;
    bool may_be_outweighed() const;
    bool was_refused() const;
    Failure why_too_few() const;
    void add_troubles(Failure& failure) const;
    std::string of_all(std::size_t count) const;
    void renewed(std::size_t node, Vote::Kind kind);
    void enter_where_it_is_missed(std::chrono::milliseconds lease, std::uint64_t fence);
    void entered_again(std::size_t node, const redis::Answer& answer);
    Presence::Copies copies_behind(const redis::Answer& answer) const;
    void leave(std::size_t node, Presence::Leaving how, Requests::Calls calls,
               const std::shared_ptr<Canvass>& canvass);
    void left(std::size_t node, const redis::Answer& answer);
    bool may_be_in() const;
    void withdraw(std::size_t node);
    void withdraw_until(std::size_t node, Moment end);
    void withdrew(std::size_t node, const redis::Answer& answer, Moment end);

    const Desk desk_;
    const std::shared_ptr<const Profile> profile_;
    const Nonce nonce_;

    mutable std::mutex mutex_;
    std::vector<Presence> places_;  ///< at each node
    /// Whether a node has refused the fence of the others as too far ahead of its clock.
    bool clocks_differ_ = false;
    std::optional<Ballot> ballot_;
    std::chrono::milliseconds lease_{0};
    Moment sent_{};
    Callback<void(Outcome)> told_;    ///< empty once it was called
    Moment left_at_ = Moment::max();  ///< when it left first
    bool is_waited_for_ = false;      ///< who has not answered is, for a while
};

/// Takes one out of all nodes of whom nothing but that is known.
void take_out(const Desk& desk, const Profile& profile, const Ticket& ticket, Canvass::Told told);

}  // namespace holdfast::inline v0::redlock
