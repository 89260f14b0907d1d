#include "stores/local/client.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "stores/ledger/line_page.hpp"
#include "stores/local/local_store.hpp"
#include "stores/local/mailbox.hpp"

namespace holdfast::inline v0::local {

namespace {

constexpr const char* control_name = "control";

/// How often a verb makes sure that the folder was not removed: a system call each time would cost
/// more than it is worth.
constexpr std::chrono::milliseconds folder_check_interval{100};

/// How many waiters are suspected when a newcomer is turned away.
constexpr std::uint64_t suspected_waiters = 64;

/// The small numbers are the Station's own.
constexpr ClientId smallest_id = 16;

ClientId random_id() {
    ClientId id = 0;
    while (id < smallest_id) {
        if (getrandom(&id, sizeof id, 0) != sizeof id) id = 0;
    }
    return id;
}

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
        client_.neighbours_.forget(nonce_);
    }

private:
    ForkMark mark_;
    LocalClient& client_;
    Nonce nonce_;
    std::unique_ptr<Watch> registered_;
};

LocalClient::LocalClient(const LocalOptions& options)
    : folder_(options.folder, options.mode),
      self_{.id = random_id(), .process = this_process()},
      control_file_(folder_.open_file(control_name)),
      seat_(folder_.open_file(control_name)),
      control_(folder_, control_file_.get(), options.request_timeout),
      station_(folder_, *this),
      neighbours_(station_.epoll(), control_file_.get(), self_.process) {
    open(options.request_timeout);
}

void LocalClient::open(std::chrono::milliseconds patience) {
    const std::string boot = boot_id();
    const auto fits = [&] { return belongs_together() && boot == control_.page().boot_id; };
    seat_.open_door(folder_, patience);
    if (!fits()) {
        // Given up in between: two that hold the door open would wait for each other.
        seat_.close_door();
        seat_.bar_door(folder_, patience);
        if (!fits()) prepare(boot);
    }
    sit_down();
    seat_.close_door();
    bury_all_dead();
}

bool LocalClient::belongs_together() const {
    const ControlPage& page = control_.page();
    return control_.made() && page.table_inode != 0 &&
           folder_.inode_of(table_file) == page.table_inode;
}

/// Nobody else can open the store meanwhile, and whoever has it open is seated.
void LocalClient::prepare(const std::string& boot) {
    if (!anybody_seated(control_file_.get())) {
        control_.start_afresh(boot);
        Doorbell::remove_all(folder_);
    } else if (!belongs_together()) {
        folder_.fail(errc::unreachable, std::string("its file ") + table_file +
                                            " was removed or replaced while other processes use "
                                            "it; end them (fuser " +
                                            folder_.path() + "/" + control_name + ")");
    }
    // Else only the boot id differs: a container may have one of its own.
}

void LocalClient::sit_down() {
    environment_.emplace(folder_, control_);
    seat_.take(folder_, self_.id);
    doorbell_.emplace(folder_, self_.id);
    station_.listen(doorbell_->descriptor());
    environment_->transact([&](Table& table) { enroll(table, self_); });
}

LocalClient::~LocalClient() {
    station_.stop();
    Aftermath after;
    try {
        const ClientId self = self_.id;
        bury({&self, 1}, after);
        for (const ClientId other : after.to_ring) doorbell_->ring(other);
    } catch (...) {
        // The seat is free in a moment: then the others bury this client.
    }
}

void LocalClient::check_folder(Moment now) {
    struct stat status {};
    if (fstat(control_file_.get(), &status) == 0 && status.st_nlink == 0) {
        folder_.fail(errc::unreachable,
                     "its folder was removed while in use, so that its locks exclude no new "
                     "process; stop the guarded work and open the store again");
    }
    folder_check_due_.store(now + folder_check_interval, std::memory_order_relaxed);
}

void LocalClient::note_told(Step& step) {
    Aftermath& after = step.after;
    for (const ledger::Told& told : step.ledger.told()) {
        if (told.client == self_.id) {
            after.own.push_back(told);
            if (told.state == Standing::State::waiting) look_ahead(step, told.nonce);
        } else if (find_member(step.scene.table, told.client)) {
            post(step.scene.table, told);
            if (std::ranges::find(after.to_ring, told.client) == after.to_ring.end()) {
                after.to_ring.push_back(told.client);
            }
        } else {
            after.dead.push_back(told.client);
        }
    }
}

/// Of one of this client's own waiters, whose line the table knows.
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
    Ahead ahead{.waiter = ticket.nonce, .turn = environment_->turn(), .members = {}};
    for (const ClientId id : step.ledger.ahead_of(ticket)) {
        if (id == self_.id) continue;
        ahead.members.push_back(find_member(step.scene.table, id).value_or(Member{.id = id}));
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

void LocalClient::settle(Aftermath after, Station::Due* due) {
    std::vector<ledger::Told> own;
    try {
        for (;;) {
            std::ranges::copy(after.own, std::back_inserter(own));
            const std::vector<ClientId> dead = ring_and_follow(after);
            if (dead.empty()) break;
            after = {};
            bury(dead, after);
        }
    } catch (const Error&) {
        behind_ = true;
        station_.wake_leader();
    }
    // Last: a callback may destroy this client.
    const auto watchers = watchers_;
    const ClientId self = self_.id;
    if (due == nullptr) return watchers->call(own, self);
    for (const ledger::Told& told : own) {
        due->push_back(
            [watchers, told] { watchers->call(told.nonce, Standing{.state = told.state}); });
    }
}

/// Answers who turned out to be dead.
std::vector<ClientId> LocalClient::ring_and_follow(const Aftermath& after) {
    std::vector<ClientId> dead = after.dead;
    for (const ClientId other : after.to_ring) {
        const bool nobody = doorbell_->ring(other) == Doorbell::Answer::nobody;
        if (nobody && !is_seated(control_file_.get(), other)) dead.push_back(other);
    }
    for (const Ahead& ahead : after.ahead) {
        const auto found = neighbours_.follow(ahead.waiter, ahead.turn, ahead.members,
                                              [&] { return watchers_->watches(ahead.waiter); });
        std::ranges::copy(found, std::back_inserter(dead));
    }
    if (!after.ahead.empty() && neighbours_.has_to_look()) station_.wake_leader();
    return dead;
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
        Doorbell::remove(folder_, id);
        neighbours_.remove(id);
    }
}

std::vector<Member> LocalClient::in_the_way(Step& step, const std::string& resource) const {
    std::vector<ledger::Told> nobody;
    const ledger::LinePage page(step.scene, nobody, resource);
    std::vector<ClientId> ids;
    for (const auto& row : page.holders()) ids.push_back(row.fixed.client);
    if (page.head().waiters <= suspected_waiters) {
        for (const auto& row : page.waiters()) ids.push_back(row.fixed.client);
    }
    std::ranges::sort(ids);
    const auto repeated = std::ranges::unique(ids);
    ids.erase(repeated.begin(), repeated.end());
    std::erase(ids, self_.id);
    std::vector<Member> members;
    for (const ClientId id : ids) {
        members.push_back(find_member(step.scene.table, id).value_or(Member{.id = id}));
    }
    return members;
}

bool LocalClient::is_dead(const Member& member) const {
    return member.id != self_.id &&
           local::is_dead(member, control_file_.get(), self_.process.pid_namespace);
}

bool LocalClient::bury_dead(std::span<const Member> suspects) {
    Aftermath after;
    for (const Member& member : suspects) {
        if (is_dead(member)) after.dead.push_back(member.id);
    }
    if (after.dead.empty()) return false;
    settle(std::move(after), nullptr);
    return true;
}

void LocalClient::bury_all_dead() {
    std::vector<Member> members;
    environment_->transact([&](Table& table) { members = all_members(table); });
    bury_dead(members);
}

int LocalClient::share_seat() {
    self_.dead_when = DeadWhen::seat_free;
    environment_->transact([&](Table& table) { enroll(table, self_); });
    return fcntl(seat_.descriptor(), F_DUPFD_CLOEXEC, 0);
}

Failure LocalClient::failure(const Error& error) const {
    std::string sentence = error.what();
    if (!sentence.starts_with(folder_.description())) {
        sentence.insert(0, folder_.description() + ": ");
    }
    return {static_cast<errc>(error.code().value()), error.effect(), std::move(sentence)};
}

void LocalClient::open_mail(Station::Due& due) noexcept {
    doorbell_->silence();
    const auto opened = in_turn(
        [&](Step& step) {
            for (const ledger::Told& told : take_mail(step.scene.table, self_.id)) {
                step.after.own.push_back(told);
                if (told.state == Standing::State::waiting) look_ahead(step, told.nonce);
            }
            return true;
        },
        &due);
    if (!opened.ok()) behind_ = true;
}

void LocalClient::process_ended(ClientId client, Station::Due& due) noexcept {
    if (!neighbours_.ended(client)) return;
    Aftermath after;
    after.dead.push_back(client);
    settle(std::move(after), &due);
}

std::optional<Moment> LocalClient::next_look() noexcept {
    if (!behind_ && !neighbours_.has_to_look()) {
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
    after.dead = neighbours_.look();
    if (!after.dead.empty()) settle(std::move(after), &due);
}

void LocalClient::catch_up(Station::Due& due) {
    open_mail(due);
    try {
        bury_all_dead();
    } catch (const Error&) {
        behind_ = true;
    }
}

}  // namespace holdfast::inline v0::local
