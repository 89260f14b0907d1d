#include "stores/memcached/dealing.hpp"

#include <exception>
#include <utility>

#include "port/sentences.hpp"
#include "stores/memcached/item.hpp"

namespace holdfast::inline v0::memcached {

using Kind = Reply::Kind;
using State = Standing::State;

namespace {

Applicant::Copies copies_of(const Answer& answer) {
    const bool left = answer.repeated ||
                      (!answer.result.ok() && answer.result.failure().effect == Effect::unknown);
    return left ? Applicant::Copies::left : Applicant::Copies::none;
}

/// Of an item that was seen, or made or kept just now.
Version version_of(const Reply& reply) {
    return {reply.cas, reply.connection, deed_in(reply.text)};
}
Version version_of(const Reply& reply, Deed deed) {
    return {reply.cas, reply.connection, deed};
}

bool shows_item_of(const Reply& reply, const Identity& who) {
    return reply.kind == Kind::value && is_of(reply.text, version_of(reply), who);
}

}  // namespace

/// Whoever waits must not do so for ever: another thread may lead, and be the one that ends by it.
template <class Step>
void Dealing::go_on(Step step) {
    try {
        step();
    } catch (const std::exception&) {
        if (!told_) throw;
        failed({errc::unreachable, Effect::unknown, "out of memory"});
    }
}

template <class Next>
void Dealing::ask(Command command, Next next, std::uint64_t only_on) {
    desk_.wire.submit(who_->key, std::move(command),
                      [self = shared_from_this(), next](const Answer& answer) {
                          const auto store = self->desk_.store.lock();
                          if (!store) return;
                          self->go_on([&] {
                              if (answer.result.ok()) return (*self.*next)(answer);
                              self->failed(answer.result.failure());
                          });
                      },
                      {.only_on = only_on, .until = until_});
}

/// Once an item was asked for, it may be there: also where what was asked next had no effect.
void Dealing::failed(Failure failure) {
    if (adds_) failure.effect = Effect::unknown;
    tell(std::move(failure));
}

void Dealing::take(std::chrono::milliseconds lease) {
    lease_ = lease;
    switch (desk_.applicants.adding(who_->nonce)) {
        case Applicants::Adding::begun:
            return add();
        case Applicants::Adding::holds:
            return look();
        case Applicants::Adding::left:
            return tell(Standing{});
    }
}

void Dealing::add() {
    adds_ = true;
    desk_.wire.submit(who_->key, Command::add(who_->key, value_at(Deed::made, who_->value), lease_),
                      [self = shared_from_this()](const Answer& answer) {
                          const auto store = self->desk_.store.lock();
                          if (store) self->go_on([&] { self->taken(answer); });
                      },
                      {.until = until_});
}

/// An item that another copy of the request may make once more, when somebody else has held
/// meanwhile, is kept before it counts: see is_remade().
void Dealing::taken(const Answer& answer) {
    const bool is_only_one = desk_.applicants.added(who_->nonce, copies_of(answer));
    if (!answer.result.ok()) return tell(answer.result.failure());
    const Reply& reply = answer.result.value();
    const bool done = reply.kind == Kind::done;
    if (done && is_only_one) return admitted(version_of(reply, Deed::made));
    if (done || reply.kind == Kind::not_stored) return look();
    tell(unexpected());
}

void Dealing::look(std::chrono::milliseconds lease) {
    lease_ = lease;
    look();
}

void Dealing::look() {
    // As of now: what is made once more is told from what had been kept before it was looked at.
    if (const auto version = desk_.applicants.version_of(who_->nonce)) known_ = version;
    ask(Command::look(who_->key), &Dealing::seen);
}

/// Whether it was kept before, and is not now: a copy of the request that made it came late.
bool Dealing::is_remade(const Reply& reply) const {
    return known_ && known_->deed == Deed::kept && deed_in(reply.text) == Deed::made;
}

bool Dealing::shows_own(const Reply& reply) const {
    return shows_item_of(reply, *who_) && !is_remade(reply);
}

void Dealing::seen(const Answer& answer) {
    const Reply& reply = answer.result.value();
    if (shows_own(reply)) return keep(version_of(reply));
    if (known_ || holds_) return gone();
    if (reply.kind == Kind::missing) return seen_free(answer.sent);
    if (reply.kind == Kind::value) return seen_held(answer.sent);
    tell(unexpected());
}

void Dealing::seen_free(Moment sent) {
    desk_.applicants.looked(who_->nonce, sent, Applicant::Found::free);
    tell(Standing{.state = State::offered, .counted_from = sent});
}

void Dealing::seen_held(Moment sent) {
    desk_.applicants.looked(who_->nonce, sent, Applicant::Found::held);
    tell(Standing{.state = State::waiting,
                  .counted_from = sent,
                  .look_again = desk_.applicants.next_look(who_->nonce)});
}

void Dealing::keep(const Version& version, std::chrono::milliseconds lease) {
    lease_ = lease;
    known_ = version;
    keep(version);
}

void Dealing::keep(const Version& version) {
    holds_ = true;
    const std::string value = value_at(Deed::kept, who_->value);
    ask(Command::replace(who_->key, value, lease_, version.cas), &Dealing::kept,
        version.connection);
}

void Dealing::kept(const Answer& answer) {
    const Reply& reply = answer.result.value();
    switch (reply.kind) {
        case Kind::done:
            return admitted(version_of(reply, Deed::kept));
        case Kind::missing:
            return gone();
        case Kind::changed:
        case Kind::parted:
            return look();
        default:
            return tell(unexpected());
    }
}

void Dealing::admitted(const Version& version) {
    if (version.cas == 0) {
        return tell(
            Failure{errc::bad_configuration, Effect::unknown,
                    desk_.description + ": it counts no versions of items; start it without -C"});
    }
    desk_.applicants.holds(who_->nonce, version);
    tell(Standing{.state = State::admitted});
}

void Dealing::gone() {
    const auto applicant = desk_.applicants.forget(who_->nonce);
    if (applicant && applicant->may_come_late()) keep_vigil(desk_, who_);
    tell(Standing{});
}

void Dealing::give_back(const Version& version) {
    if (!known_) known_ = version;
    ask(Command::remove(who_->key, version.cas), &Dealing::given_back, version.connection);
}

void Dealing::given_back(const Answer& answer) {
    switch (answer.result.value().kind) {
        case Kind::done:
            return tell(Standing{.state = State::admitted});
        case Kind::missing:
            if (perhaps_done_) return tell(perhaps_done(desk_.description));
            return tell(Standing{});
        case Kind::parted:
            perhaps_done_ = perhaps_done_ || answer.repeated;
            return search();
        case Kind::changed:
            return search();
        default:
            return tell(unexpected());
    }
}

void Dealing::take_out(State otherwise) {
    otherwise_ = otherwise;
    search();
}

void Dealing::search() {
    ask(Command::look(who_->key), &Dealing::searched);
}

void Dealing::searched(const Answer& answer) {
    const Reply& reply = answer.result.value();
    if (shows_own(reply)) return give_back(version_of(reply));
    if (perhaps_done_) return tell(perhaps_done(desk_.description));
    tell(Standing{.state = otherwise_});
}

void Dealing::find() {
    known_ = desk_.applicants.version_of(who_->nonce);
    desk_.wire.submit(who_->key, Command::look(who_->key),
                      [self = shared_from_this()](const Answer& answer) {
                          const auto store = self->desk_.store.lock();
                          if (store) self->go_on([&] { self->found(answer); });
                      });
}

void Dealing::found(const Answer& answer) {
    if (!answer.result.ok()) return tell(answer.result.failure());
    const bool there = shows_own(answer.result.value());
    tell(Standing{.state = there ? State::admitted : State::gone});
}

Failure Dealing::unexpected() const {
    return {errc::corrupt, Effect::unknown,
            desk_.description +
                ": it answered what the command does not have; check what is "
                "between it and us"};
}

namespace {

using namespace std::chrono_literals;

/// Looks, each after twice as long as the one before it.
class Vigil : public std::enable_shared_from_this<Vigil> {
public:
    Vigil(Desk desk, std::shared_ptr<const Identity> who)
        : desk_(std::move(desk)), who_(std::move(who)), interest_(desk_.wire.interest()) {}

    void look_later() {
        const Moment next = BootClock::now() + pause_;
        pause_ *= 2;
        if (pause_ > longest_pause) return desk_.applicants.vigil_is_over(who_->nonce);
        desk_.wire.submit_at(next, who_->key, Command::look(who_->key),
                             [self = shared_from_this()](const Answer& answer) {
                                 if (const auto store = self->desk_.store.lock()) {
                                     self->seen(answer);
                                 }
                             });
    }

private:
    /// So the last look is after 51 s: a tombstone on a server that can have one stays for about as
    /// long.
    static constexpr std::chrono::nanoseconds longest_pause = 60s;

    void seen(const Answer& answer) {
        const bool there = answer.result.ok() && shows_item_of(answer.result.value(), *who_);
        if (there) {
            const Version version = version_of(answer.result.value());
            desk_.wire.submit(who_->key, Command::remove(who_->key, version.cas),
                              [](const Answer&) {},
                              {.only_on = version.connection, .until = desk_.wire.until()});
        }
        look_later();
    }

    const Desk desk_;
    const std::shared_ptr<const Identity> who_;
    std::chrono::nanoseconds pause_ = 50ms;
    const Wire::Interest interest_;
};

}  // namespace

void keep_vigil(const Desk& desk, const std::shared_ptr<const Identity>& who) {
    if (!desk.applicants.begins_vigil(who->nonce)) return;
    try {
        std::make_shared<Vigil>(desk, who)->look_later();
    } catch (...) {
        // Out of memory, say. The next one is kept.
        desk.applicants.vigil_is_over(who->nonce);
        throw;
    }
}

}  // namespace holdfast::inline v0::memcached
