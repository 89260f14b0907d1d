#include "stores/local/local_client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "stores/ledger/line_page.hpp"

namespace holdfast::inline v0::local {

namespace {

/// A doorbell takes at least ten messages before it is full and mail is written: so one of those
/// that are heard after that opens it.
constexpr unsigned heard_between_mails = 8;

/// How many waiters are suspected when a newcomer is turned away.
constexpr std::uint64_t suspected_waiters = 64;

/// However many clients there are: all of them together would open in quadratic time.
constexpr std::size_t looked_at_when_opened = 8;

}  // namespace

class LocalClient::LocalWatch final : public Watch {
public:
    LocalWatch(LocalClient& client, const Nonce& nonce, std::unique_ptr<Watch> registered)
        : client_(client), nonce_(nonce), registered_(std::move(registered)) {}
    ~LocalWatch() override {
        if (mark_.inherited()) {
            static_cast<void>(registered_.release());
            return;
        }
        registered_.reset();
        client_.processes_ahead_.forget(nonce_);
    }

private:
    ForkMark mark_;
    LocalClient& client_;
    Nonce nonce_;
    std::unique_ptr<Watch> registered_;
};

LocalClient::LocalClient(const LocalOptions& options)
    : self_(new_registrant()),
      premises_(options, self_),
      station_(folder(), *this),
      doorbell_(folder(), self_.id),
      processes_ahead_(station_.epoll(), premises_.control_file(), self_.process) {
    station_.listen(doorbell_.descriptor());
    premises_.environment().transact([&](Table& table) { enroll(table, self_); });
    premises_.close_door();
    bury_some_dead();
}

LocalClient::~LocalClient() {
    station_.stop();
    Aftermath after;
    try {
        const ClientId self = self_.id;
        bury({&self, 1}, after);
        for (const ledger::Told& told : after.others) doorbell_.tell(told);
    } catch (...) {
        // Its pulse is over in a moment: then the others bury this client.
    }
}

void LocalClient::note_told(Step& step) {
    Aftermath& after = step.after;
    for (const ledger::Told& told : step.ledger.told()) {
        if (told.client == self_.id) {
            after.own.push_back(told);
            if (told.state == Standing::State::waiting) look_ahead(step, told.nonce);
        } else if (find_registrant(step.scene.table, told.client)) {
            after.others.push_back(told);
        } else {
            after.dead.push_back(told.client);
        }
    }
}

/// Looks at those ahead of one of this client's own waiters, whose line the table knows.
void LocalClient::look_ahead(Step& step, const Nonce& nonce) {
    ledger::ResourceId line;
    const auto place = step.scene.table.get(ledger::index_key(self_.id, nonce));
    if (!place || place->size() < line.size()) return;
    std::memcpy(line.data(), place->data(), line.size());
    std::vector<ledger::Told> nobody;
    const ledger::LinePage page(step.scene, nobody, line);
    look_ahead(step, Ticket{.resource = std::string(page.name()), .nonce = nonce, .place = {}});
}

void LocalClient::look_ahead(Step& step, const Ticket& ticket) {
    if (!watchers_->watches(ticket.nonce)) return;
    Ahead ahead{.waiter = ticket.nonce, .turn = premises_.environment().turn(), .registrants = {}};
    for (const ClientId id : step.ledger.ahead_of(ticket)) {
        if (id == self_.id) continue;
        ahead.registrants.push_back(
            find_registrant(step.scene.table, id).value_or(Registrant{.id = id}));
    }
    step.after.ahead.push_back(std::move(ahead));
}

std::unique_ptr<Watch> LocalClient::add_watch(const Nonce& nonce, LineMoved line_moved) {
    return std::make_unique<LocalWatch>(*this, nonce, watchers_->add(nonce, std::move(line_moved)));
}

void LocalClient::call_later(const Nonce& nonce, const Standing& standing) {
    station_.leave_to_leader(
        [watchers = watchers_, nonce, standing] { watchers->call(nonce, standing); });
}

bool LocalClient::settle(Aftermath after, Station::Due* due) {
    std::vector<ledger::Told> own;
    bool done = true;
    try {
        for (;;) {
            std::ranges::copy(after.own, std::back_inserter(own));
            const std::vector<ClientId> dead = tell_and_follow(after);
            if (dead.empty()) break;
            after = {};
            bury(dead, after);
        }
    } catch (const Error&) {
        done = false;
        behind_ = true;
        station_.wake_leader();
    }
    call(own, due);
    return done;
}

/// The last that is done with this client: a callback may destroy it.
void LocalClient::call(const std::vector<ledger::Told>& own, Station::Due* due) {
    const auto watchers = watchers_;
    const ClientId self = self_.id;
    if (due == nullptr) return ledger::call(*watchers, own, self);
    for (const ledger::Told& told : own) {
        due->push_back(
            [watchers, told] { watchers->call(told.nonce, Standing{.state = told.state}); });
    }
}

/// Answers who turned out to be dead.
std::vector<ClientId> LocalClient::tell_and_follow(const Aftermath& after) {
    std::vector<ClientId> dead = tell(after.others);
    std::ranges::copy(after.dead, std::back_inserter(dead));
    for (const Ahead& ahead : after.ahead) {
        const auto found =
            processes_ahead_.follow(ahead.waiter, ahead.turn, ahead.registrants,
                                    [&] { return watchers_->watches(ahead.waiter); });
        std::ranges::copy(found, std::back_inserter(dead));
    }
    if (!after.ahead.empty() && processes_ahead_.has_to_look()) station_.wake_leader();
    return dead;
}

std::vector<ClientId> LocalClient::tell(std::span<const ledger::Told> others) {
    std::vector<ClientId> dead;
    std::vector<ledger::Told> untold;
    for (const ledger::Told& told : others) {
        const auto answer = doorbell_.tell(told);
        if (answer == Doorbell::Answer::told) continue;
        const bool gone =
            answer == Doorbell::Answer::nobody && !has_pulse(premises_.control_file(), told.client);
        if (gone) {
            dead.push_back(told.client);
        } else {
            untold.push_back(told);
        }
    }
    if (!untold.empty()) write_to(untold);
    return dead;
}

/// Rings again afterwards: if it is still full then, whatever it hears next comes after the mail.
void LocalClient::write_to(std::span<const ledger::Told> others) {
    premises_.environment().transact([&](Table& table) {
        for (const ledger::Told& told : others) post(table, told);
    });
    for (const ledger::Told& told : others) doorbell_.tell(told);
}

void LocalClient::bury(std::span<const ClientId> dead, Aftermath& after) {
    std::optional<Result<bool>> done;
    const auto verb = [&](Step& step) {
        for (const ClientId id : dead) {
            step.ledger.bury(id);
            take_mail(step.scene.table, id);
            strike(step.scene.table, id);
        }
        return true;
    };
    transact(verb, done, after);
    for (const ClientId id : dead) {
        Doorbell::remove(folder(), id);
        processes_ahead_.remove(id);
    }
}

std::vector<Registrant> LocalClient::in_the_way(Step& step, const std::string& resource) const {
    std::vector<ledger::Told> nobody;
    const ledger::LinePage page(step.scene, nobody, resource);
    std::vector<ClientId> ids;
    for (const auto& row : page.holders()) ids.push_back(row.fixed.client);
    if (page.head().waiters <= suspected_waiters) {
        for (const auto& row : page.waiters()) ids.push_back(row.fixed.client);
    }
    std::ranges::sort(ids);
    const auto last = std::unique(ids.begin(), ids.end());
    ids.erase(last, ids.end());
    std::erase(ids, self_.id);
    std::vector<Registrant> registrants;
    registrants.reserve(ids.size());
    for (const ClientId id : ids) {
        registrants.push_back(find_registrant(step.scene.table, id).value_or(Registrant{.id = id}));
    }
    return registrants;
}

bool LocalClient::is_dead(const Registrant& registrant) const {
    return registrant.id != self_.id &&
           local::is_dead(registrant, premises_.control_file(), self_.process.pid_namespace);
}

bool LocalClient::bury_dead(std::span<const Registrant> suspects, Station::Due* due) {
    Aftermath after;
    for (const Registrant& registrant : suspects) {
        if (is_dead(registrant)) after.dead.push_back(registrant.id);
    }
    return !after.dead.empty() && settle(std::move(after), due);
}

void LocalClient::bury_all_dead(Station::Due* due) {
    std::vector<Registrant> registrants;
    premises_.environment().transact([&](Table& table) { registrants = all_registrants(table); });
    bury_dead(registrants, due);
}

void LocalClient::bury_some_dead() {
    std::vector<Registrant> registrants;
    premises_.environment().transact([&](Table& table) {
        registrants = registrants_after(table, self_.id, looked_at_when_opened);
    });
    Aftermath after;
    for (const Registrant& registrant : registrants) {
        const bool beats =
            registrant.id == self_.id || has_pulse(premises_.control_file(), registrant.id);
        if (!beats) after.dead.push_back(registrant.id);
    }
    if (!after.dead.empty()) settle(std::move(after), nullptr);
}

int LocalClient::share_pulse(pid_t pid) {
    Descriptor shared(premises_.share_pulse());
    if (!shared) throw out_of_descriptors();
    Registrant registrant = self_;
    registrant.dead_when = DeadWhen::pulse_over;
    registrant.process = identity_of(pid);
    premises_.environment().transact([&](Table& table) { enroll(table, registrant); });
    return shared.release();
}

Failure LocalClient::failure(const Error& error) const {
    std::string sentence = error.what();
    if (!sentence.starts_with(folder().description())) {
        sentence.insert(0, folder().description() + ": ");
    }
    return {static_cast<errc>(error.code().value()), error.effect(), std::move(sentence)};
}

void LocalClient::open_mail(Step& step) {
    for (const ledger::Told& told : take_mail(step.scene.table, self_.id)) {
        step.after.own.push_back(told);
        if (told.state == Standing::State::waiting) look_ahead(step, told.nonce);
    }
}

void LocalClient::hear(Station::Due& due) noexcept {
    const auto told = doorbell_.hear();
    if (told) {
        due.push_back([watchers = watchers_, told = *told] {
            watchers->call(told.nonce, Standing{.state = told.state});
        });
    }
    if (++heard_ % heard_between_mails == 0) open_mail(due);
}

void LocalClient::open_mail(Station::Due& due) noexcept {
    const auto opened = in_turn(
        [&](Step& step) {
            open_mail(step);
            return true;
        },
        &due);
    if (!opened.ok()) behind_ = true;
}

void LocalClient::process_ended(ClientId client, Station::Due& due) noexcept {
    if (!processes_ahead_.ended(client)) return;
    Aftermath after;
    after.dead.push_back(client);
    // It may have passed its place on, and died before it told anybody.
    for (const Nonce& waiter : processes_ahead_.behind(client)) {
        after.own.push_back({.client = self_.id, .nonce = waiter});
    }
    // Its descriptor stays readable: looked at by that, it would be tried without a pause.
    if (!settle(std::move(after), &due)) processes_ahead_.look_only(client);
}

std::optional<Moment> LocalClient::next_look() noexcept {
    if (!behind_ && !processes_ahead_.has_to_look()) {
        next_look_.reset();
    } else if (!next_look_) {
        next_look_ = clock_.now() + look_interval;
    }
    return next_look_;
}

void LocalClient::look_around(Station::Due& due) noexcept {
    if (!next_look_ || clock_.now() < *next_look_) return;
    next_look_.reset();
    if (behind_.exchange(false)) catch_up(due);
    Aftermath after;
    after.dead = processes_ahead_.look();
    if (!after.dead.empty()) settle(std::move(after), &due);
}

void LocalClient::catch_up(Station::Due& due) {
    open_mail(due);
    try {
        bury_all_dead(&due);
    } catch (const Error&) {
        behind_ = true;
    }
}

}  // namespace holdfast::inline v0::local
