#include "stores/memcached/dealing.hpp"

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

Version version_of(const Reply& reply) {
    return {reply.cas, reply.connection};
}

}  // namespace

template <class Next>
void Dealing::ask(Command command, Next next, std::uint64_t only_on) {
    desk_.wire.submit(who_->key, std::move(command),
                      [self = shared_from_this(), next](const Answer& answer) {
                          const auto store = self->desk_.store.lock();
                          if (!store) return;
                          if (answer.result.ok()) return (*self.*next)(answer);
                          self->failed(answer.result.failure());
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
    desk_.applicants.adding(who_->nonce);
    adds_ = true;
    desk_.wire.submit(who_->key, Command::add(who_->key, who_->value, lease_),
                      [self = shared_from_this()](const Answer& answer) {
                          const auto store = self->desk_.store.lock();
                          if (store) self->taken(answer);
                      },
                      {.until = until_});
}

void Dealing::taken(const Answer& answer) {
    desk_.applicants.added(who_->nonce, copies_of(answer));
    if (!answer.result.ok()) return tell(answer.result.failure());
    const Reply& reply = answer.result.value();
    if (reply.kind == Kind::done) return admitted(reply);
    if (reply.kind == Kind::not_stored) return look();
    tell(unexpected());
}

void Dealing::look(std::chrono::milliseconds lease) {
    lease_ = lease;
    look();
}

void Dealing::look() {
    ask(Command::look(who_->key), &Dealing::seen);
}

void Dealing::seen(const Answer& answer) {
    const Reply& reply = answer.result.value();
    if (reply.kind == Kind::value && is_of(reply.text, *who_)) return keep(version_of(reply));
    if (holds_) return gone();
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
    keep(version);
}

void Dealing::keep(const Version& version) {
    holds_ = true;
    ask(Command::replace(who_->key, who_->value, lease_, version.cas), &Dealing::kept,
        version.connection);
}

void Dealing::kept(const Answer& answer) {
    const Reply& reply = answer.result.value();
    switch (reply.kind) {
        case Kind::done:
            return admitted(reply);
        case Kind::missing:
            return gone();
        case Kind::changed:
        case Kind::parted:
            return look();
        default:
            return tell(unexpected());
    }
}

void Dealing::admitted(const Reply& reply) {
    if (reply.cas == 0) {
        return tell(
            Failure{errc::bad_configuration, Effect::unknown,
                    desk_.description + ": it counts no versions of items; start it without -C"});
    }
    desk_.applicants.holds(who_->nonce, version_of(reply));
    tell(Standing{.state = State::admitted});
}

void Dealing::gone() {
    const auto applicant = desk_.applicants.forget(who_->nonce);
    if (applicant && applicant->may_come_late()) keep_vigil(desk_, who_);
    tell(Standing{});
}

void Dealing::give_back(const Version& version) {
    ask(Command::remove(who_->key, version.cas), &Dealing::given_back, version.connection);
}

void Dealing::given_back(const Answer& answer) {
    switch (answer.result.value().kind) {
        case Kind::done:
            return tell(Standing{.state = State::admitted});
        case Kind::missing:
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
    const bool there = reply.kind == Kind::value && is_of(reply.text, *who_);
    if (there) return give_back(version_of(reply));
    if (perhaps_done_) return tell(perhaps_done(desk_.description));
    tell(Standing{.state = otherwise_});
}

void Dealing::find() {
    desk_.wire.submit(
        who_->key, Command::look(who_->key), [self = shared_from_this()](const Answer& answer) {
            const auto store = self->desk_.store.lock();
            if (!store) return;
            if (!answer.result.ok()) return self->tell(answer.result.failure());
            const Reply& reply = answer.result.value();
            const bool there = reply.kind == Kind::value && is_of(reply.text, *self->who_);
            self->tell(Standing{.state = there ? State::admitted : State::gone});
        });
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
    /// A minute in all: a tombstone on a server that can have one stays for as long.
    static constexpr std::chrono::nanoseconds longest_pause = 60s;

    void seen(const Answer& answer) {
        const bool there = answer.result.ok() && answer.result.value().kind == Kind::value &&
                           is_of(answer.result.value().text, *who_);
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

void keep_vigil(const Desk& desk, std::shared_ptr<const Identity> who) {
    if (!desk.applicants.begins_vigil(who->nonce)) return;
    std::make_shared<Vigil>(desk, std::move(who))->look_later();
}

}  // namespace holdfast::inline v0::memcached
