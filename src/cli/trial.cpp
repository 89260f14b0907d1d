#include "cli/trial.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "cli/connecting.hpp"
#include "cli/crew.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"
#include "cli/terminal_line.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using verify::Instant;

/// Short enough for several of them to pass in a trial.
constexpr std::chrono::milliseconds lease_unless_given = 2s;
constexpr auto between_looks = 200ms;

Instant in_nanoseconds(std::chrono::nanoseconds time) {
    return time.count();
}

/// Of resources that nobody else has heard of.
std::string prefix_of_our_own() {
    std::random_device random;
    return formatted("holdfast-verify/{:08x}{:08x}/", random(), random());
}

/// What the store says when it is asked for a lock that it cannot do; empty when it can.
std::string refusal(const std::string& name, const std::function<void()>& make_lock) {
    try {
        make_lock();
        return "";
    } catch (const Error& error) {
        if (error.code() != errc::not_supported) throw;
        const std::string sentence = error.what();
        return sentence.starts_with(name + ": ") ? sentence.substr(name.size() + 2) : sentence;
    }
}

/// From connecting to the verdict, step by step.
class TrialOfAStore {
public:
    TrialOfAStore(const TrialOptions& options, const Signals& signals)
        : options_(options),
          signals_(signals),
          client_(connect_unless_ended(options.store, signals)) {
        refuse_private(client_.store());
        trial_.store = client_.store();
        trial_.seed = options.seed ? *options.seed : std::random_device{}();
        random_.seed(trial_.seed);
        choose_manner();
    }

    verify::Report run() {
        contend();
        if (!was_anybody_in()) throw_why_nobody_was();
        look_what_is_left();
        return verify::report_on(std::move(trial_), std::move(exempt_));
    }

private:
    void choose_manner() {
        verify::Manner& manner = trial_.manner;
        manner.prefix = prefix_of_our_own();
        manner.mutexes = 3;
        const auto longest = std::min(client_.usual_lease(), client_.usual_shared_lease());
        manner.shortest_lease = manner.longest_lease =
            options_.lease.value_or(std::min(lease_unless_given, longest));
        manner.moment = 12ms;
        manner.long_one_in = 100;
        manner.longest_hold =
            std::min<std::chrono::milliseconds>(manner.longest_lease, options_.time / 2);
        ask_for_abilities(manner);
    }
    /// By asking for a lock of each kind, which a store that cannot do it refuses.
    void ask_for_abilities(verify::Manner& manner) {
        const LockOptions lock{.lease = manner.longest_lease};
        const std::string name = verify::mutexes(manner).front();
        static_cast<void>(client_.mutex(name, lock));
        const auto can = [&](const char* what, const std::function<void()>& make_lock) {
            const std::string why = refusal(name, make_lock);
            if (!why.empty()) exempt_.push_back({what, why});
            return why.empty();
        };
        verify::Abilities& abilities = manner.abilities;
        abilities.shares = can("readers and writers were not tried",
                               [&] { static_cast<void>(client_.shared_mutex(name, lock)); });
        abilities.permits = can("permits were not tried", [&] {
            static_cast<void>(client_.semaphore(name, verify::pool_capacity, lock));
        });
        abilities.fences = can("fences were not judged", [&] {
            static_cast<void>(client_.mutex(name, {.lease = manner.longest_lease, .fenced = true}));
        });
    }

    void contend() {
        // It is theirs to know which store: this may be another program than the one that would
        // be chosen by the variable.
        unsetenv("HOLDFAST_STORE");
        Crew crew({.store = options_.store, .seed = random_(), .manner = trial_.manner},
                  options_.clients);
        trial_.begin = verify::now();
        trial_.end = trial_.begin + in_nanoseconds(options_.time);
        try {
            interfere_until_the_end(crew);
            trial_.end = verify::now();
            line_.show("verifying: the clients give back what they hold");
            dismiss(crew);
        } catch (const EndedBySignal&) {
            let_go(crew);
            throw;
        }
        std::move(crew).write_into(trial_);
    }
    /// Whoever holds something gives it back, if the store lets it.
    static void let_go(Crew& crew) {
        crew.dismiss();
        const Instant end = verify::now() + in_nanoseconds(5s);
        while (!crew.is_empty() && verify::now() < end) {
            try {
                crew.have_ended(100ms);
            } catch (const NotWritten&) {
                // Nothing will be judged.
            }
        }
    }
    void dismiss(Crew& crew) const {
        crew.dismiss();
        const Instant end = verify::now() + in_nanoseconds(limit());
        while (!crew.have_ended(50ms) && verify::now() < end) signals_.obey();
        crew.give_up();
    }
    void interfere_until_the_end(Crew& crew) {
        Instant next = trial_.begin + some_time(300ms, 1s);
        while (verify::now() < trial_.end && !crew.is_empty()) {
            signals_.obey();
            crew.look_after();
            if (verify::now() >= next) {
                interfere(crew);
                next = verify::now() + some_time(200ms, 1s);
            }
            show_progress();
            sleep(20ms);
        }
    }
    void interfere(Crew& crew) {
        const bool kill = options_.kills && (!options_.pauses || random_() % 3 == 0);
        if (kill) return crew.kill_one();
        if (!options_.pauses) return;
        const auto lease = trial_.manner.longest_lease;
        const Instant left = trial_.end - verify::now();
        crew.pause_one(std::chrono::nanoseconds{
            std::min(some_time(lease / 20, lease * 3 / 2), std::max<Instant>(left, 1))});
    }
    Instant some_time(std::chrono::nanoseconds least, std::chrono::nanoseconds most) {
        const auto range = static_cast<std::uint64_t>((most - least).count());
        return least.count() + static_cast<Instant>(random_() % range);
    }
    /// Or until a signal is here.
    void sleep(std::chrono::milliseconds time) const {
        pollfd source{signals_.descriptor(), POLLIN, 0};
        poll(&source, 1, static_cast<int>(time.count()));
    }
    void show_progress() {
        if (verify::now() < next_line_) return;
        next_line_ = verify::now() + in_nanoseconds(between_looks);
        constexpr Instant second = 1'000'000'000;
        line_.show(formatted("verifying {}: {} of {} s", trial_.store,
                             (verify::now() - trial_.begin) / second,
                             (trial_.end - trial_.begin) / second));
    }

    bool was_anybody_in() const {
        return std::ranges::any_of(trial_.history.visits, &verify::Visit::was_admitted);
    }
    [[noreturn]] void throw_why_nobody_was() const {
        const auto& failures = trial_.history.failures;
        throw Error(errc::unreachable,
                    "nobody was admitted in all that time, so nothing was seen" +
                        (failures.empty() ? "" : ": " + failures.back().sentence));
    }

    std::chrono::nanoseconds limit() const {
        return std::chrono::nanoseconds{verify::idle_at_most(trial_.manner)};
    }
    /// All clients are gone: everything is free, after the leases of those who were killed, and
    /// nobody is in line.
    void look_what_is_left() {
        line_.show("verifying: looking what is left");
        const Instant end = verify::now() + in_nanoseconds(limit());
        for (const std::string& name : verify::resources(trial_.manner)) {
            see(verify::Promise::freed, name, "was not free when all clients were gone", end,
                [&] { return can_be_had(name); });
            see(verify::Promise::emptied, name, "has somebody in line when all clients are gone",
                end, [&] { return !client_.look_at(name); });
        }
    }
    bool can_be_had(const std::string& name) {
        const LockOptions lock{.lease = trial_.manner.longest_lease};
        constexpr auto patience = 500ms;  // to hear of a signal
        if (name == verify::pool(trial_.manner)) {
            const Attempt all = client_.semaphore(name, verify::pool_capacity, lock)
                                    .try_acquire_for(patience, verify::pool_capacity);
            return all.has_value();
        }
        if (name == verify::table(trial_.manner)) {
            const Attempt writer = client_.shared_mutex(name, lock).try_acquire_for(patience);
            return writer.has_value();
        }
        const Attempt all = client_.mutex(name, lock).try_acquire_for(patience);
        return all.has_value();
    }
    /// That it comes true before the end; a store that does not answer is asked again.
    void see(verify::Promise promise, const std::string& name, const char* otherwise, Instant end,
             const std::function<bool()>& comes_true) {
        std::string silence;
        do {
            signals_.obey();
            try {
                silence.clear();
                if (comes_true()) return;
            } catch (const Error& error) {
                if (error.code() != errc::unreachable) throw;
                silence = error.what();
            }
            sleep(20ms);
        } while (verify::now() < end);
        if (!silence.empty()) throw Error(errc::unreachable, silence);
        trial_.seen.push_back(
            {promise, {.at = verify::now(), .what = name + ": " + otherwise, .resource = name}});
    }

    const TrialOptions& options_;
    const Signals& signals_;
    const Client client_;
    verify::Random random_;
    verify::Trial trial_;
    std::vector<verify::Exemption> exempt_;
    TerminalLine line_;
    Instant next_line_ = 0;
};

}  // namespace

verify::Report try_out(const TrialOptions& options, const Signals& signals) {
    return TrialOfAStore(options, signals).run();
}

}  // namespace holdfast::cli
