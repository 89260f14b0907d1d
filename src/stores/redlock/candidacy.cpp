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

/// Leaves one node, again until that is answered: a tombstone is planted, for what made it
/// necessary is a copy of an enter that may be carried out late.
class Withdrawal : public std::enable_shared_from_this<Withdrawal> {
public:
    Withdrawal(Desk desk, std::shared_ptr<const Profile> profile, Nonce nonce, std::size_t node)
        : desk_(std::move(desk)), profile_(std::move(profile)), nonce_(nonce), node_(node) {}

    void leave() {
        desk_.wire.submit(
            node_, desk_.requests.leave(*profile_, nonce_, tombstone_time, Calls::made),
            [self = shared_from_this()](const redis::Answer& answer) {
                const auto store = self->desk_.store.lock();
                if (store && !answer.result.ok()) self->leave_later();
            },
            desk_.wire.until());
    }

private:
    /// A node that comes back after a day has nothing left of it but a lease.
    static constexpr std::chrono::nanoseconds longest_time = 10min;
    static constexpr std::chrono::nanoseconds pause = 200ms;

    void leave_later() {
        const Moment now = BootClock::now();
        if (now > began_ + longest_time) return;
        desk_.wire.at(now + pause, [self = shared_from_this()] {
            if (const auto store = self->desk_.store.lock()) self->leave();
        });
    }

    const Desk desk_;
    const std::shared_ptr<const Profile> profile_;
    const Nonce nonce_;
    const std::size_t node_;
    const Moment began_ = BootClock::now();
};

std::string in_seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

Candidacy::Candidacy(Desk desk, std::shared_ptr<const Profile> profile, Nonce nonce)
    : desk_(std::move(desk)),
      profile_(std::move(profile)),
      nonce_(nonce),
      places_(desk_.terms().nodes) {}

// --- entering ---

void Candidacy::enter(std::chrono::milliseconds lease, Callback<void(Outcome)> told) {
    {
        const std::lock_guard guard(mutex_);
        lease_ = lease;
        told_ = std::move(told);
        sent_ = BootClock::now();
        ballot_.emplace(desk_.terms(), lease, sent_);
        for (Place& place : places_) place.entered = Place::Entered::under_way;
    }
    const std::uint64_t proposal = desk_.acquaintance.proposal();
    for (std::size_t i = 0; i < places_.size(); ++i) {
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
    note(places_[node], vote, answer);
    // It left while this was under way: what came behind it on one connection has ended it, but not
    // what may come by another one.
    if (has_left_ && places_[node].in_doubt) {
        lock.unlock();
        return withdraw(node);
    }
    ballot_->entered(node, vote);
    go_on(std::move(lock));
}

void Candidacy::note(Place& place, const Vote& vote, const redis::Answer& answer) const {
    const bool may_have_been_done =
        !answer.result.ok() && answer.result.failure().effect == Effect::unknown;
    place.in_doubt |= answer.repeated || may_have_been_done;
    place.entered = vote.kind == Kind::admitted ? Place::Entered::yes : Place::Entered::no;
    place.registered = vote.kind == Kind::busy && !profile_->caller.empty();
}

void Candidacy::wrote_back(std::size_t node, const redis::Answer& answer) {
    const Vote vote = desk_.acquaintance.heard(node, answer).vote;
    Lock lock(mutex_);
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
    if (decision != Decision::open) return tell(decision, std::move(lock));
    const auto behind = ballot_->write_backs();
    const std::uint64_t fence = ballot_->fence();
    const auto others = unanswered();
    const bool waits =
        others.size() + ballot_->count(Kind::silent) + desk_.terms().majority() <= places_.size() &&
        !is_waited_for_;
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
                .flight = BootClock::now() - sent_};
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
    if (std::ranges::any_of(places_, &Place::may_be_in)) failure.effect = Effect::unknown;
    if (ballot_->count(Kind::forgetful) > 0) {
        failure.sentence +=
            of_all(ballot_->count(Kind::forgetful)) +
            " were started or emptied a moment ago, and may have forgotten who holds; a majority "
            "counts in " +
            in_seconds(ballot_->until_free()) +
            "; wait for so long, or mark a set that was never used by holdfast init";
    } else if (ballot_->count(Kind::ahead) > 0) {
        failure.sentence +=
            "the clocks of the nodes are further apart than half of max_lease; set them right";
    } else {
        add_troubles(failure);
    }
    return failure;
}

/// By a tombstone. Once it is in, it is gone by its lease.
bool Candidacy::was_refused() const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const bool is_gone = ballot_->nodes()[i].vote.kind == Kind::gone;
        if (is_gone && places_[i].entered != Place::Entered::yes) return true;
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
            [self = shared_from_this(), canvass, i](const redis::Answer& answer) {
                const auto store = self->desk_.store.lock();
                if (store) canvass->take(i, self->desk_.acquaintance.heard(i, answer).vote);
            },
            desk_.wire.until());
    }
}

// --- leaving ---

/// What is not in doubt needs no tombstone: an enter that is under way goes before its leave.
void Candidacy::leave(Calls calls, Canvass::Told told) {
    const auto canvass =
        told ? std::make_shared<Canvass>(desk_, std::move(told)) : std::shared_ptr<Canvass>();
    std::vector<Place> places;
    Callback<void(Outcome)> whoever_enters;
    {
        const std::lock_guard guard(mutex_);
        has_left_ = true;
        places = places_;
        whoever_enters = std::exchange(told_, {});
        if (calls == Calls::made) {
            for (Place& place : places_) place.registered = false;
        }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        const bool is_concerned =
            places[i].may_be_in() || (places[i].registered && calls == Calls::made);
        if (!is_concerned) {
            if (canvass) canvass->take(i, {.kind = Kind::gone});
            continue;
        }
        const auto tombstone = places[i].in_doubt ? tombstone_time : 0ms;
        desk_.wire.submit(
            i, desk_.requests.leave(*profile_, nonce_, tombstone, calls),
            [self = shared_from_this(), canvass, i](const redis::Answer& answer) {
                const auto store = self->desk_.store.lock();
                if (!store) return;
                Vote vote = self->desk_.acquaintance.heard(i, answer).vote;
                self->left(i, answer);
                // An earlier copy may have taken it out.
                if (vote.kind == Kind::gone && answer.repeated) vote.kind = Kind::silent;
                if (canvass) canvass->take(i, vote);
            },
            desk_.wire.until());
    }
    if (whoever_enters) whoever_enters({.decision = Decision::gone});
}

void Candidacy::left(std::size_t node, const redis::Answer& answer) {
    {
        const std::lock_guard guard(mutex_);
        Place& place = places_[node];
        if (answer.result.ok()) {
            if (place.entered == Place::Entered::yes) place.entered = Place::Entered::no;
            return;
        }
        if (!place.may_be_in()) return;
    }
    withdraw(node);
}

void Candidacy::withdraw(std::size_t node) {
    std::make_shared<Withdrawal>(desk_, profile_, nonce_, node)->leave();
}

void take_out(const Desk& desk, const Profile& profile, const Ticket& ticket, Canvass::Told told) {
    // Nobody knows of it afterwards: there is nothing that would be tried again.
    const auto canvass = std::make_shared<Canvass>(desk, std::move(told), Canvass::Ends::with_all);
    const auto tombstone = ticket.place.empty() ? tombstone_time : 0ms;
    for (std::size_t i = 0; i < desk.terms().nodes; ++i) {
        desk.wire.submit(
            i, desk.requests.leave(profile, ticket.nonce, tombstone, Calls::made),
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
