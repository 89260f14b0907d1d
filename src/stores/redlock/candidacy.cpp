#include "stores/redlock/candidacy.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "port/sentences.hpp"
#include "stores/net/outbox.hpp"

namespace holdfast::inline v0::redlock {

namespace {

using namespace std::chrono_literals;
using Kind = Vote::Kind;
using Calls = Requests::Calls;

/// How long a delayed enter is refused.
constexpr std::chrono::milliseconds tombstone_time = 1min;

/// How long one that could not be told is told again: a node that comes back after a day has
/// nothing left of it but a lease.
constexpr std::chrono::nanoseconds longest_withdrawal = 10min;
constexpr std::chrono::nanoseconds withdrawal_pause = 200ms;

std::string in_seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

std::string sentence_on(const Vote& objection) {
    const std::string all_anew =
        ", or end all clients and delete the key holdfast/=run on each node";
    if (objection.kind == Kind::disagreed) {
        return "other clients have max_lease=" + std::to_string(objection.after.count()) +
               "ms; give all the same" + all_anew;
    }
    return "other clients name other nodes, or these by other addresses; name all of them alike "
           "(by "
           "the parameter set, where the addresses must differ)" +
           all_anew;
}

}  // namespace

Candidacy::Candidacy(Desk desk, std::shared_ptr<const Profile> profile, Nonce nonce)
    : desk_(std::move(desk)),
      profile_(std::move(profile)),
      nonce_(nonce),
      places_(desk_.terms().nodes) {}

// --- entering ---

/// Whoever leaves, and what is answered, waits until all of it is on its way: so an enter goes
/// before its leave.
void Candidacy::enter(std::chrono::milliseconds lease, Callback<void(Outcome)> told) {
    Lock lock(mutex_);
    if (left_at_ != Moment::max()) {
        lock.unlock();
        return told({.decision = Decision::gone});
    }
    lease_ = lease;
    told_ = std::move(told);
    sent_ = BootClock::now();
    ballot_.emplace(desk_.terms(), lease, sent_);
    const std::uint64_t proposal = desk_.acquaintance.proposal();
    for (std::size_t i = 0; i < places_.size(); ++i) {
        places_[i].enters();
        desk_.wire.submit(
            i, desk_.requests.enter(*profile_, nonce_, lease, proposal),
            [self = shared_from_this(), i](const redis::Answer& answer) {
                if (const auto store = self->desk_.store.lock()) self->entered(i, answer);
            },
            desk_.wire.until());
    }
}

void Candidacy::entered(std::size_t node, const redis::Answer& answer) {
    const Vote vote = desk_.acquaintance.heard(node, answer).vote;
    Lock lock(mutex_);
    if (note(places_[node], vote, answer) == Presence::Then::withdraw) {
        lock.unlock();
        return withdraw(node);
    }
    ballot_->entered(node, vote);
    go_on(std::move(lock));
}

Presence::Then Candidacy::note(Presence& presence, const Vote& vote,
                               const redis::Answer& answer) const {
    using Entered = Presence::Entered;
    const bool is_called = vote.kind == Kind::busy && !profile_->caller.empty();
    Entered how = is_called ? Entered::called : Entered::out;
    if (vote.kind == Kind::admitted) how = Entered::in;
    return presence.entered(how, copies_behind(answer));
}

/// Of an enter.
Presence::Copies Candidacy::copies_behind(const redis::Answer& answer) const {
    const bool may_have_been_done =
        !answer.result.ok() && answer.result.failure().effect == Effect::unknown;
    // By when it was sent: which of the two answers is heard first says nothing.
    const bool is_behind_its_leave = answer.sent >= left_at_;
    const bool may_come = answer.repeated || may_have_been_done || is_behind_its_leave;
    return may_come ? Presence::Copies::may_come : Presence::Copies::none;
}

void Candidacy::wrote_back(std::size_t node, const redis::Answer& answer) {
    const Vote vote = desk_.acquaintance.heard(node, answer).vote;
    Lock lock(mutex_);
    clocks_differ_ |= vote.kind == Kind::ahead;
    ballot_->wrote_back(node, vote);
    go_on(std::move(lock));
}

void Candidacy::give_up() {
    Lock lock(mutex_);
    ballot_->give_up();
    go_on(std::move(lock));
}

void Candidacy::go_on(Lock lock) {
    if (!told_) return;
    const Decision decision = ballot_->decision(BootClock::now());
    if (decision != Decision::open) {
        const bool is_objected_to = desk_.acquaintance.objection().has_value();
        return tell(is_objected_to ? Decision::too_few : decision, std::move(lock));
    }
    const auto behind = ballot_->write_backs();
    const std::uint64_t fence = ballot_->fence();
    const auto others = unanswered();
    // A node that has no say is no reason to hurry the others.
    const auto have_a_say =
        ballot_->count(Kind::admitted) + ballot_->count(Kind::busy) + ballot_->count(Kind::none);
    const bool waits = others.size() + desk_.terms().majority() <= have_a_say && !is_waited_for_;
    is_waited_for_ |= waits;
    lock.unlock();
    write_back(behind, fence);
    if (!waits) return;
    const auto grace = grace_for(desk_, others, sent_);
    if (grace == grace.zero()) return give_up();
    desk_.wire.at(BootClock::now() + grace, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->give_up();
    });
}

/// Those who still have a say.
std::vector<std::size_t> Candidacy::unanswered() const {
    std::vector<std::size_t> those;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const Ballot::Node& one = ballot_->nodes()[i];
        const bool is_asked = one.storing == Ballot::Storing::asked;
        if (one.vote.kind == Kind::none || is_asked) those.push_back(i);
    }
    return those;
}

/// The serial is what enter counts as, so that any renewal is later.
void Candidacy::write_back(std::span<const std::size_t> nodes, std::uint64_t fence) {
    Extension extension(lease_);
    extension.serial = 0;
    for (const std::size_t i : nodes) {
        desk_.wire.submit(
            i, desk_.requests.renew(*profile_, nonce_, extension, fence),
            [self = shared_from_this(), i](const redis::Answer& answer) {
                if (const auto store = self->desk_.store.lock()) self->wrote_back(i, answer);
            },
            desk_.wire.until());
    }
}

void Candidacy::tell(Decision decision, Lock lock) {
    const auto told = std::exchange(told_, {});
    Outcome how = outcome(decision);
    lock.unlock();
    if (decision != Decision::admitted) {
        // Whoever it has met goes on without being called: one of them has the lock, or will try
        // again by itself.
        const bool met_others = decision == Decision::held || decision == Decision::contested;
        leave(met_others ? Calls::none : Calls::made, {});
    }
    told(std::move(how));
}

Candidacy::Outcome Candidacy::outcome(Decision decision) const {
    Outcome how{.decision = decision,
                .fence = ballot_->fence(),
                .sent = sent_,
                .until_free = ballot_->until_free(),
                .flight = BootClock::now() - sent_,
                .proposed_too_much = ballot_->count(Kind::ahead) >= desk_.terms().majority()};
    if (decision == Decision::too_few) how.failure = why_too_few();
    if (decision == Decision::late) how.failure = too_late();
    return how;
}

Failure Candidacy::too_late() const {
    return {errc::unreachable, Effect::unknown,
            desk_.description +
                ": the nodes answered when the lease may have been over; ask for a longer one, or "
                "see what keeps them"};
}

/// Of those that have no say the reason that most concerns the user.
Failure Candidacy::why_too_few() const {
    if (ballot_->count(Kind::gone) > 0) return was_refused() ? withdrawn() : too_late();
    Failure failure{errc::unreachable, Effect::none, desk_.description + ": "};
    if (may_be_in()) failure.effect = Effect::unknown;
    const auto objection = desk_.acquaintance.objection();
    if (objection && !may_be_outweighed()) {
        failure.code = errc::bad_configuration;
        failure.sentence += sentence_on(*objection);
    } else if (ballot_->count(Kind::forgetful) > 0) {
        failure.sentence +=
            of_all(ballot_->count(Kind::forgetful)) +
            " were started or emptied a moment ago, and may have forgotten who holds; a majority "
            "counts in " +
            in_seconds(ballot_->until_free()) +
            "; wait for so long, or mark a set that was never used by holdfast init";
    } else if (ballot_->count(Kind::ahead) > 0 || clocks_differ_) {
        failure.sentence +=
            "the clocks of the nodes are further apart than half of max_lease; set them right";
    } else {
        add_troubles(failure);
    }
    return failure;
}

/// By nodes that were not heard.
bool Candidacy::may_be_outweighed() const {
    const auto unheard = ballot_->count(Kind::silent) + ballot_->count(Kind::none);
    const auto agree = ballot_->count(Kind::admitted) + ballot_->count(Kind::busy);
    return unheard > 0 && agree + unheard >= desk_.terms().majority();
}

/// By a tombstone. Once it is in, it is gone by its lease.
bool Candidacy::was_refused() const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const bool is_gone = ballot_->nodes()[i].vote.kind == Kind::gone;
        if (is_gone && !places_[i].is_in()) return true;
    }
    return false;
}

std::string Candidacy::of_all(std::size_t count) const {
    return std::to_string(count) + " of " + std::to_string(places_.size()) + " nodes";
}

/// One trouble is told for all. Where a majority is not set up rightly, time mends nothing.
void Candidacy::add_troubles(Failure& failure) const {
    std::vector<Failure> troubles;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (auto trouble = desk_.acquaintance.trouble_with(i)) troubles.push_back(*trouble);
    }
    const auto silent = ballot_->count(Kind::silent) + ballot_->count(Kind::none);
    failure.sentence += of_all(places_.size() - silent) + " answered, and it takes " +
                        std::to_string(desk_.terms().majority());
    // What somebody else has written there stays, too.
    const auto stays = [](const Failure& trouble) {
        return net::is_lasting(trouble) || trouble.code == errc::corrupt;
    };
    const auto lasting = std::partition(troubles.begin(), troubles.end(), stays);
    if (!troubles.empty()) failure.sentence += "; " + troubles.front().sentence;
    const auto wrong = static_cast<std::size_t>(lasting - troubles.begin());
    if (places_.size() - wrong < desk_.terms().majority()) failure.code = troubles.front().code;
}

// --- holding ---

void Candidacy::renew(const Extension& extension, std::uint64_t fence, Canvass::Told told) {
    const auto canvass = std::make_shared<Canvass>(desk_, std::move(told));
    for (std::size_t i = 0; i < places_.size(); ++i) {
        desk_.wire.submit(
            i, desk_.requests.renew(*profile_, nonce_, extension, fence),
            [self = shared_from_this(), canvass, i, lease = extension.lease,
             fence](const redis::Answer& answer) {
                const auto store = self->desk_.store.lock();
                if (!store) return;
                const Vote vote = self->desk_.acquaintance.heard(i, answer).vote;
                self->renewed(i, vote.kind);
                const bool is_kept = canvass->take(i, vote) == Decision::admitted;
                if (is_kept) self->enter_where_it_is_missed(lease, fence);
            },
            desk_.wire.until());
    }
}

void Candidacy::renewed(std::size_t node, Kind kind) {
    const std::lock_guard guard(mutex_);
    if (kind == Kind::gone) places_[node].misses();
}

/// A hold that was had while others were in its way would otherwise rest on a bare majority for as
/// long as it goes on, and one that outlives many restarts on none in the end. It counts there from
/// its next renewal. Whoever leaves waits until this is on its way, as in enter().
void Candidacy::enter_where_it_is_missed(std::chrono::milliseconds lease, std::uint64_t fence) {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (!places_[i].enters_again()) continue;
        Profile uncalled = *profile_;
        uncalled.caller.clear();
        desk_.wire.submit(
            i, desk_.requests.enter(uncalled, nonce_, lease, fence),
            [self = shared_from_this(), i](const redis::Answer& answer) {
                if (const auto store = self->desk_.store.lock()) self->entered_again(i, answer);
            },
            desk_.wire.until());
    }
}

void Candidacy::entered_again(std::size_t node, const redis::Answer& answer) {
    using Entered = Presence::Entered;
    const Vote vote = desk_.acquaintance.heard(node, answer).vote;
    {
        const std::lock_guard guard(mutex_);
        const Entered how = vote.kind == Kind::admitted ? Entered::in : Entered::out;
        const auto then = places_[node].entered_again(how, copies_behind(answer));
        if (then == Presence::Then::nothing) return;
    }
    withdraw(node);
}

// --- leaving ---

void Candidacy::leave(Calls calls, Canvass::Told told) {
    const auto canvass =
        told ? std::make_shared<Canvass>(desk_, std::move(told)) : std::shared_ptr<Canvass>();
    std::vector<Presence::Leaving> how;
    Callback<void(Outcome)> whoever_enters;
    {
        const std::lock_guard guard(mutex_);
        left_at_ = std::min(left_at_, BootClock::now());
        for (Presence& place : places_) how.push_back(place.leave(calls));
        whoever_enters = std::exchange(told_, {});
    }
    for (std::size_t i = 0; i < how.size(); ++i) leave(i, how[i], calls, canvass);
    if (whoever_enters) whoever_enters({.decision = Decision::gone});
}

void Candidacy::leave(std::size_t node, Presence::Leaving how, Calls calls,
                      const std::shared_ptr<Canvass>& canvass) {
    using Leaving = Presence::Leaving;
    if (how == Leaving::nothing || how == Leaving::is_withdrawing) {
        const Kind known = how == Leaving::nothing ? Kind::gone : Kind::silent;
        if (canvass) canvass->take(node, {.kind = known});
        return;
    }
    const auto tombstone = how == Leaving::sends_tombstone ? tombstone_time : 0ms;
    desk_.wire.submit(
        node, desk_.requests.leave(*profile_, nonce_, tombstone, calls),
        [self = shared_from_this(), canvass, node](const redis::Answer& answer) {
            const auto store = self->desk_.store.lock();
            if (!store) return;
            Vote vote = self->desk_.acquaintance.heard(node, answer).vote;
            self->left(node, answer);
            // An earlier copy may have taken it out.
            if (vote.kind == Kind::gone && answer.repeated) vote.kind = Kind::silent;
            if (canvass) canvass->take(node, vote);
        },
        desk_.wire.until());
}

void Candidacy::left(std::size_t node, const redis::Answer& answer) {
    {
        const std::lock_guard guard(mutex_);
        Presence& place = places_[node];
        if (answer.result.ok()) return place.left();
        if (place.leave_failed() == Presence::Then::nothing) return;
    }
    withdraw(node);
}

bool Candidacy::may_be_in() const {
    return std::ranges::any_of(places_, &Presence::may_be_in);
}

/// Leaves one node in the background, again until that is answered: a tombstone is planted, for
/// what made it necessary is a copy of an enter that may be carried out late. Once at a time.
void Candidacy::withdraw(std::size_t node) {
    {
        const std::lock_guard guard(mutex_);
        if (!places_[node].begins_withdrawal()) return;
    }
    withdraw_until(node, BootClock::now() + longest_withdrawal);
}

void Candidacy::withdraw_until(std::size_t node, Moment end) {
    desk_.wire.submit(
        node, desk_.requests.leave(*profile_, nonce_, tombstone_time, Calls::made),
        [self = shared_from_this(), node, end](const redis::Answer& answer) {
            const auto store = self->desk_.store.lock();
            if (store) self->withdrew(node, answer, end);
        },
        desk_.wire.until());
}

void Candidacy::withdrew(std::size_t node, const redis::Answer& answer, Moment end) {
    const Moment now = BootClock::now();
    if (!answer.result.ok() && now < end) {
        return desk_.wire.at(now + withdrawal_pause, [self = shared_from_this(), node, end] {
            if (const auto store = self->desk_.store.lock()) self->withdraw_until(node, end);
        });
    }
    const std::lock_guard guard(mutex_);
    if (!answer.result.ok()) return places_[node].gives_up_withdrawal();
    places_[node].withdrew();
}

void take_out(const Desk& desk, const Profile& profile, const Ticket& ticket, Canvass::Told told) {
    // Nobody knows of it afterwards: there is nothing that would be tried again. Its own client may
    // have it enter again where it is missed, before the others have taken it out.
    const auto canvass = std::make_shared<Canvass>(desk, std::move(told), Canvass::Ends::with_all);
    for (std::size_t i = 0; i < desk.terms().nodes; ++i) {
        desk.wire.submit(
            i, desk.requests.leave(profile, ticket.nonce, tombstone_time, Calls::made),
            [desk, canvass, i](const redis::Answer& answer) {
                const auto store = desk.store.lock();
                if (!store) return;
                Vote vote = desk.acquaintance.heard(i, answer).vote;
                if (vote.kind == Kind::gone && answer.repeated) vote.kind = Kind::silent;
                canvass->take(i, vote);
            },
            desk.wire.until());
    }
}

}  // namespace holdfast::inline v0::redlock
