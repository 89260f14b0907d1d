#include "verify/contention.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <holdfast/holdfast.hpp>

namespace holdfast::verify {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t all = 1'000'000'000;
/// How often a holder looks whether it is one.
constexpr auto look_again = 3ms;
/// Who asks with patience has less than this.
constexpr std::uint64_t most_patience_ms = 3000;
constexpr Instant millisecond = 1'000'000;
/// A loss is told a twentieth of the lease early to whoever runs: one that stood still for half of
/// that was not scheduled, as the promise has it.
constexpr int shares_of_a_lease = 40;
constexpr Instant at_most_still = 20 * millisecond;

}  // namespace

/// How somebody asks: whatever the primitive, so that each can be asked in every way.
struct Contention::Asking {
    std::function<Attempt()> try_now;
    std::function<Attempt(Wait, const std::stop_token&)> try_for;
    std::function<Hold(const std::stop_token&)> wait;
    std::function<void(OnAcquired, const std::stop_token&)> later;
};

namespace {

template <class Asking>
Attempt wait_for(const Asking& asking, const std::stop_token& stop) {
    std::promise<Attempt> promise;
    auto future = promise.get_future();
    asking.later(
        [&promise](const std::exception_ptr& failure, Attempt attempt) {
            if (failure) {
                promise.set_exception(failure);
            } else {
                promise.set_value(std::move(attempt));
            }
        },
        stop);
    return future.get();
}

bool is_cancelled(const Error& error, const std::stop_token& stop) {
    return error.code() == errc::cancelled && stop.stop_requested();
}

Ending ending_by(Loss loss) {
    return loss == Loss::overdue ? Ending::overdue : Ending::ended;
}

}  // namespace

std::vector<std::string> mutexes(const Manner& manner) {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(manner.mutexes));
    for (int i = 0; i < manner.mutexes; ++i) {
        names.push_back(manner.prefix + "orders/" + std::to_string(i));
    }
    return names;
}

std::string table(const Manner& manner) {
    return manner.prefix + "table";
}

std::string pool(const Manner& manner) {
    return manner.prefix + "pool";
}

std::vector<std::string> resources(const Manner& manner) {
    auto names = mutexes(manner);
    if (manner.abilities.shares) names.push_back(table(manner));
    if (manner.abilities.permits) names.push_back(pool(manner));
    return names;
}

Contention::Contention(const Client& client, Journal& journal, const Manner& manner,
                       std::string who, std::uint64_t seed, Work& work)
    : client_(client),
      journal_(journal),
      manner_(manner),
      work_(work),
      random_(seed),
      who_(std::move(who)) {}

void Contention::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) visit_one(stop);
}

void Contention::visit_one(const std::stop_token& stop) {
    const auto kind = pick(8);
    if (kind == 0 && manner_.abilities.permits) return visit_pool(stop);
    if (kind <= 2 && manner_.abilities.shares) return visit_table(stop);
    if (kind == 3 && manner_.abilities.several) return visit_several(stop);
    visit_mutex(stop);
}

LockOptions Contention::options() {
    const auto range = (manner_.longest_lease - manner_.shortest_lease).count();
    lease_ = manner_.shortest_lease;
    if (range > 0) lease_ += std::chrono::milliseconds{pick(static_cast<std::uint64_t>(range))};
    return {.lease = lease_};
}

Visit Contention::announced(const std::string& resource, std::uint64_t weight,
                            std::uint64_t capacity) {
    return {.who = who_ + std::to_string(++visits_),
            .resource = resource,
            .weight = weight,
            .capacity = capacity};
}

/// Of a lock that is taken as a whole.
template <class Lock>
void Contention::visit_all_of(Lock& lock, std::vector<Visit> visits, const std::stop_token& stop) {
    const Asking asking{
        [&] { return lock.try_acquire(); },
        [&](Wait wait, const std::stop_token& token) { return lock.try_acquire_for(wait, token); },
        [&](const std::stop_token& token) { return lock.acquire(token); },
        [&](OnAcquired done, const std::stop_token& token) {
            lock.async_acquire(std::move(done), token);
        }};
    visit(std::move(visits), asking, stop);
}

void Contention::visit_mutex(const std::stop_token& stop) {
    const auto names = mutexes(manner_);
    const std::string& name = names.at(pick(names.size()));
    auto mutex = client_.mutex(name, options());
    visit_all_of(mutex, {announced(name, all, all)}, stop);
}

void Contention::visit_table(const std::stop_token& stop) {
    const std::string name = table(manner_);
    auto mutex = client_.shared_mutex(name, options());
    if (pick(3) == 0) return visit_all_of(mutex, {announced(name, all, all)}, stop);
    const Asking asking{[&] { return mutex.try_acquire_shared(); },
                        [&](Wait wait, const std::stop_token& token) {
                            return mutex.try_acquire_shared_for(wait, token);
                        },
                        [&](const std::stop_token& token) { return mutex.acquire_shared(token); },
                        [&](OnAcquired done, const std::stop_token& token) {
                            mutex.async_acquire_shared(std::move(done), token);
                        }};
    visit({announced(name, 1, all)}, asking, stop);
}

void Contention::visit_pool(const std::stop_token& stop) {
    const std::string name = pool(manner_);
    auto semaphore = client_.semaphore(name, pool_capacity, options());
    const auto permits = static_cast<std::uint32_t>(1 + pick(2));
    const Asking asking{
        [&] { return semaphore.try_acquire(permits); },
        [&](Wait wait, const std::stop_token& token) {
            return semaphore.try_acquire_for(wait, permits, token);
        },
        [&](const std::stop_token& token) { return semaphore.acquire(permits, token); },
        [&](OnAcquired done, const std::stop_token& token) {
            semaphore.async_acquire(std::move(done), permits, token);
        }};
    visit({announced(name, permits, pool_capacity)}, asking, stop);
}

void Contention::visit_several(const std::stop_token& stop) {
    const auto names = mutexes(manner_);
    auto both = client_.multi_lock({names[0], names[1]}, options());
    visit_all_of(both, {announced(names[0], all, all), announced(names[1], all, all)}, stop);
}

void Contention::visit(std::vector<Visit> visits, const Asking& asking,
                       const std::stop_token& stop) {
    for (Visit& one : visits) one.lease = std::chrono::nanoseconds{lease_}.count();
    Ending ending = Ending::failed;
    try {
        ending = ask(visits, asking, stop);
    } catch (const Error& error) {
        if (is_cancelled(error, stop)) ending = Ending::busy;
        journal_.failed(error.code().value(), error.what());
    }
    for (Visit& one : visits) {
        one.ended = now();
        one.ending = ending;
        journal_.ended(one);
    }
}

Ending Contention::ask(std::vector<Visit>& visits, const Asking& asking,
                       const std::stop_token& stop) {
    const auto way = pick(4);
    const auto patience = std::chrono::milliseconds{way == 1 ? pick(most_patience_ms) : 0};
    for (Visit& one : visits) {
        one.patience = way > 1 ? -1 : std::chrono::nanoseconds{patience}.count();
        one.asked = now();
        journal_.asked(one);
    }
    Attempt attempt = way == 0   ? asking.try_now()
                      : way == 1 ? asking.try_for(patience, stop)
                      : way == 2 ? Attempt(asking.wait(stop))
                                 : wait_for(asking, stop);
    return attempt ? hold(visits, *attempt) : Ending::busy;
}

Ending Contention::hold(std::vector<Visit>& visits, Hold& hold) {
    // Before the question whether it is held: it was at this moment, if it is then.
    const Instant admitted = now();
    const Instant remaining = std::chrono::nanoseconds{hold.remaining()}.count();
    if (!hold.held()) return ending_by(hold.loss());
    for (std::size_t i = 0; i < visits.size(); ++i) {
        visits[i].admitted = visits[i].trusted = admitted;
        // It is trusted for a lease from then on, less a margin of a twentieth.
        visits[i].sent =
            std::max(visits[i].asked, admitted + remaining - visits[i].lease * 19 / 20);
        visits[i].fence = hold.fences().at(i);
        journal_.admitted(visits[i]);
    }
    work_.begin(visits);
    const Ending ending = stay(visits, hold);
    work_.finish(visits);
    const Instant last = now();
    if (hold.held()) note_trust(visits, last);
    hold.release();
    return ending;
}

void Contention::note_trust(std::vector<Visit>& visits, Instant at) {
    for (Visit& one : visits) {
        one.trusted = at;
        journal_.trusted(one);
    }
}

/// Until the work is done or the hold is lost.
Ending Contention::stay(std::vector<Visit>& visits, const Hold& hold) {
    interrupted_ = now();
    const Instant end = interrupted_ + some_time();
    for (Instant last = interrupted_; last < end;) {
        std::this_thread::sleep_for(look_again);
        const Instant looked = now();
        const Instant lease = std::chrono::nanoseconds{lease_}.count();
        if (looked - last > std::min(at_most_still, lease / shares_of_a_lease)) {
            interrupted_ = looked;
        }
        if (!hold.held()) {
            see_the_loss(hold, looked);
            return ending_by(hold.loss());
        }
        note_trust(visits, looked);
        last = looked;
    }
    return Ending::released;
}

Instant Contention::some_time() {
    const bool is_long = pick(static_cast<std::uint64_t>(manner_.long_one_in)) == 0;
    const auto most = is_long ? manner_.longest_hold : manner_.moment;
    return static_cast<Instant>(pick(static_cast<std::uint64_t>(most.count()))) * millisecond;
}

/// One that is overdue was announced before, if this process ran at the time.
void Contention::see_the_loss(const Hold& hold, Instant looked) {
    const Instant told_early = std::chrono::nanoseconds{lease_}.count() / 10 + 500 * millisecond;
    if (hold.loss() != Loss::overdue || looked - interrupted_ < told_early) return;
    if (!hold.lost().stop_requested()) journal_.complain("a loss that was not announced");
}

}  // namespace holdfast::verify
