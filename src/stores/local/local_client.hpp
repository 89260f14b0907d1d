#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/store.hpp"
#include "stores/ledger/ledger.hpp"
#include "stores/local/doorbell.hpp"
#include "stores/local/premises.hpp"
#include "stores/local/processes_ahead.hpp"
#include "stores/local/registry.hpp"
#include "stores/local/station.hpp"

namespace holdfast::inline v0::local {

struct LocalOptions;

/// One client of a store: everything that a process has open for it. Transactions run through it,
/// and what follows from them is done by it: watches are called, others' doorbells rung, the dead
/// buried. Never destroyed in a forked child.
/// Threads: all members may be called from any thread.
class LocalClient final : private Station::Duties {
public:
    /// Opens the store. Throws Error.
    explicit LocalClient(const LocalOptions& options);
    /// Leaves all lines.
    ~LocalClient() override;
    LocalClient(const LocalClient&) = delete;
    LocalClient& operator=(const LocalClient&) = delete;

    const Folder& folder() const noexcept { return premises_.folder(); }
    Station& station() noexcept { return station_; }

    /// Whose end matters to a waiter, as of a turn of the store.
    struct Ahead {
        Nonce waiter;
        std::uint64_t turn = 0;
        std::vector<Registrant> registrants;
    };

    /// What a transaction leaves to be done once it is committed.
    struct Aftermath {
        std::vector<ledger::Told> own;
        std::vector<ledger::Told> others;
        std::vector<ClientId> dead;
        std::vector<Ahead> ahead;
    };

    /// A transaction in progress, as a verb sees it.
    struct Step {
        ledger::Scene scene;
        ledger::Ledger ledger;
        Aftermath after;
    };

    template <class Verb>
    using ResultOf = typename AsResult<std::invoke_result_t<Verb&, Step&>>::Type;

    /// Runs `verb(step)` in one transaction and then does what follows from it. Watches are
    /// called before it returns, or are left in `due`.
    template <class Verb>
    ResultOf<Verb> in_turn(Verb verb, Station::Due* due = nullptr) {
        std::optional<ResultOf<Verb>> result;
        Aftermath after;
        try {
            transact(verb, result, after);
        } catch (const Error& error) {
            return failure(error);
        }
        if (has_work(after)) settle(std::move(after), due);
        return std::move(*result);
    }

    /// Registers a watch; line_moved may be called as soon as a thread lends itself.
    std::unique_ptr<Watch> add_watch(const Nonce& nonce, LineMoved line_moved);
    void call_later(const Nonce& nonce, const Standing& standing);
    /// Takes note of whose end matters to a waiter, if it is watched.
    void look_ahead(Step& step, const Ticket& ticket);
    /// Takes what this client could not be told otherwise. Every verb of a waiter does.
    void open_mail(Step& step);

    /// The clients of other processes that keep a newcomer out of this line.
    std::vector<Registrant> in_the_way(Step& step, const std::string& resource) const;
    /// Buries those of the given clients that are dead; whether there were any, and they are out of
    /// the way.
    bool bury_dead(std::span<const Registrant> suspects, Station::Due* due = nullptr);
    /// Buries all that are dead. Watches are called before it returns, or are left in `due`.
    void bury_all_dead(Station::Due* due = nullptr);
    /// Buries the dead among a few, so that they do not become more and more; whoever stands behind
    /// one finds it by itself.
    void bury_some_dead();

    /// From now on the client is dead when its pulse is over, even if this process ends before: the
    /// descriptor, which is the caller's, shares the pulse with the process of that pid, and it is
    /// that one whose end others wait for.
    int share_pulse(pid_t pid);

    /// An exception of this store as its answer to a verb.
    Failure failure(const Error& error) const;

private:
    class LocalWatch;

    template <class Verb>
    void transact(Verb& verb, std::optional<ResultOf<Verb>>& result, Aftermath& after) {
        Environment& environment = premises_.environment();
        environment.transact([&](Table& table) {
            const Moment now = clock_.now();
            premises_.check(now);
            const ledger::Scene scene{table, now, clock_.wall_microseconds(),
                                      environment.last_fence()};
            Step step{scene, ledger::Ledger(scene, self_.id), {}};
            result.emplace(verb(step));
            if (!step.ledger.told().empty()) note_told(step);
            after = std::move(step.after);
        });
    }

    void note_told(Step& step);
    void look_ahead(Step& step, const Nonce& nonce);
    static bool has_work(const Aftermath& after) noexcept {
        return !after.own.empty() || !after.others.empty() || !after.dead.empty() ||
               !after.ahead.empty();
    }
    /// Whether all of it could be done. Else the store is stuck, and it is tried again later.
    bool settle(Aftermath after, Station::Due* due);
    void call(const std::vector<ledger::Told>& own, Station::Due* due);
    std::vector<ClientId> tell_and_follow(const Aftermath& after);
    std::vector<ClientId> tell(std::span<const ledger::Told> others);
    void write_to(std::span<const ledger::Told> others);
    void bury(std::span<const ClientId> dead, Aftermath& after);
    bool is_dead(const Registrant& registrant) const;
    void catch_up(Station::Due& due);

    void hear(Station::Due& due) noexcept override;
    void open_mail(Station::Due& due) noexcept;
    void process_ended(ClientId client, Station::Due& due) noexcept override;
    void look_around(Station::Due& due) noexcept override;
    std::optional<Moment> next_look() noexcept override;

    SystemClock clock_;
    Registrant self_;
    Premises premises_;
    Station station_;
    Doorbell doorbell_;
    ProcessesAhead processes_ahead_;
    std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
    /// Something could not be done because the store was stuck: to be tried again.
    std::atomic<bool> behind_{false};
    std::optional<Moment> next_look_;  ///< the leader's own
    unsigned heard_ = 0;               ///< the leader's own
};

}  // namespace holdfast::inline v0::local
