#include "chaos/worker.hpp"

#include <unistd.h>

#include <future>
#include <holdfast/holdfast.hpp>
#include <iostream>
#include <thread>

#include "chaos/broken_stores.hpp"
#include "chaos/fenced_sink.hpp"
#include "chaos/history.hpp"
#include "stores/open_store.hpp"
#include "support/client_of_store.hpp"

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t all = 1'000'000'000;
constexpr const char* table_name = "table";
constexpr const char* pool_name = "pool";
constexpr std::uint32_t pool_capacity = 3;
constexpr int own_threads = 3;
/// How often a holder looks whether it is one.
constexpr auto look_again = 3ms;
/// One that is scheduled is told this long before its lease is over, or longer.
constexpr Instant told_before_ns = 20'000'000;

std::uint64_t pick(Random& random, std::uint64_t below) {
    return random() % below;
}

/// How somebody asks: whatever the primitive, so that each can be asked in every way.
struct Asking {
    std::function<Attempt()> try_now;
    std::function<Attempt(Wait, std::stop_token)> try_for;
    std::function<Hold(std::stop_token)> wait;
    std::function<void(OnAcquired, std::stop_token)> later;
};

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

Attempt ask(const Asking& asking, Random& random, const std::stop_token& stop) {
    switch (pick(random, 4)) {
        case 0:
            return asking.try_now();
        case 1:
            return asking.try_for(std::chrono::milliseconds{pick(random, 3000)}, stop);
        case 2:
            return Attempt(asking.wait(stop));
        default:
            return wait_for(asking, stop);
    }
}

/// One thread of a contending process.
class Contention {
public:
    Contention(const Client& client, Journal& journal, const WorkerOrders& orders, int number)
        : client_(client),
          journal_(journal),
          sink_(orders.sink),
          orders_(orders),
          abilities_(orders.abilities),
          random_(orders.seed + static_cast<std::uint64_t>(number) * 1000),
          prefix_(std::to_string(getpid()) + "/" + std::to_string(number) + "/") {}

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) visit_one(stop);
    }

private:
    void visit_one(const std::stop_token& stop) {
        const auto kind = pick(random_, 8);
        if (kind == 0 && abilities_.permits) return visit_pool(stop);
        if (kind <= 2 && abilities_.shares) return visit_table(stop);
        if (kind == 3 && abilities_.several) return visit_several(stop);
        visit_mutex(stop);
    }

    LockOptions options() {
        lease_ = orders_.shortest_lease +
                 std::chrono::milliseconds{pick(
                     random_, static_cast<std::uint64_t>(orders_.shortest_lease.count()) * 4 / 3)};
        return {.lease = lease_};
    }
    Visit announced(const std::string& resource, std::uint64_t weight, std::uint64_t capacity) {
        return {.who = prefix_ + std::to_string(++visits_),
                .resource = resource,
                .weight = weight,
                .capacity = capacity};
    }
    std::string some_name() { return mutexes().at(pick(random_, mutexes().size())); }

    void visit_mutex(const std::stop_token& stop) {
        const std::string name = some_name();
        auto mutex = client_.mutex(name, options());
        const Asking asking{
            [&] { return mutex.try_acquire(); },
            [&](Wait wait, std::stop_token token) { return mutex.try_acquire_for(wait, token); },
            [&](std::stop_token token) { return mutex.acquire(token); },
            [&](OnAcquired done, std::stop_token token) {
                mutex.async_acquire(std::move(done), token);
            }};
        visit({announced(name, all, all)}, asking, stop);
    }
    void visit_table(const std::stop_token& stop) {
        auto mutex = client_.shared_mutex(table_name, options());
        if (pick(random_, 3) == 0) {
            const Asking asking{[&] { return mutex.try_acquire(); },
                                [&](Wait wait, std::stop_token token) {
                                    return mutex.try_acquire_for(wait, token);
                                },
                                [&](std::stop_token token) { return mutex.acquire(token); },
                                [&](OnAcquired done, std::stop_token token) {
                                    mutex.async_acquire(std::move(done), token);
                                }};
            return visit({announced(table_name, all, all)}, asking, stop);
        }
        const Asking asking{[&] { return mutex.try_acquire_shared(); },
                            [&](Wait wait, std::stop_token token) {
                                return mutex.try_acquire_shared_for(wait, token);
                            },
                            [&](std::stop_token token) { return mutex.acquire_shared(token); },
                            [&](OnAcquired done, std::stop_token token) {
                                mutex.async_acquire_shared(std::move(done), token);
                            }};
        visit({announced(table_name, 1, all)}, asking, stop);
    }
    void visit_pool(const std::stop_token& stop) {
        auto pool = client_.semaphore(pool_name, pool_capacity, options());
        const auto permits = static_cast<std::uint32_t>(1 + pick(random_, 2));
        const Asking asking{[&] { return pool.try_acquire(permits); },
                            [&](Wait wait, std::stop_token token) {
                                return pool.try_acquire_for(wait, permits, token);
                            },
                            [&](std::stop_token token) { return pool.acquire(permits, token); },
                            [&](OnAcquired done, std::stop_token token) {
                                pool.async_acquire(std::move(done), permits, token);
                            }};
        visit({announced(pool_name, permits, pool_capacity)}, asking, stop);
    }
    void visit_several(const std::stop_token& stop) {
        auto both = client_.multi_lock({mutexes()[0], mutexes()[1]}, options());
        const Asking asking{
            [&] { return both.try_acquire(); },
            [&](Wait wait, std::stop_token token) { return both.try_acquire_for(wait, token); },
            [&](std::stop_token token) { return both.acquire(token); },
            [&](OnAcquired done, std::stop_token token) {
                both.async_acquire(std::move(done), token);
            }};
        visit({announced(mutexes()[0], all, all), announced(mutexes()[1], all, all)}, asking, stop);
    }

    void visit(std::vector<Visit> visits, const Asking& asking, const std::stop_token& stop) {
        for (Visit& one : visits) {
            one.lease = std::chrono::nanoseconds{lease_}.count();
            one.asked = now();
            journal_.asked(one);
        }
        try {
            if (Attempt attempt = ask(asking, random_, stop)) hold(visits, *attempt);
        } catch (const Error& error) {
            journal_.failed(error.code().value(), error.what());
        }
        for (Visit& one : visits) one.ended = now(), journal_.ended(one);
    }

    void hold(std::vector<Visit>& visits, Hold& hold) {
        // Before the question whether it is held: it was at this moment, if it is then.
        const Instant admitted = now();
        if (!hold.held()) return;
        for (std::size_t i = 0; i < visits.size(); ++i) {
            visits[i].admitted = visits[i].trusted = admitted;
            visits[i].fence = hold.fences().at(i);
            journal_.admitted(visits[i]);
        }
        const auto read = begin_writing(visits);
        work(visits, hold);
        finish_writing(visits, read);
        const Instant last = now();
        if (hold.held()) note_trust(visits, last);
        hold.release();
    }
    void note_trust(std::vector<Visit>& visits, Instant at) {
        for (Visit& one : visits) one.trusted = at, journal_.trusted(one);
    }

    /// Until the work is done or the hold is lost.
    void work(std::vector<Visit>& visits, const Hold& hold) {
        const Instant end = now() + some_time();
        for (Instant last = now(); last < end;) {
            std::this_thread::sleep_for(look_again);
            const Instant looked = now();
            if (!hold.held()) return see_the_loss(hold, looked - last);
            note_trust(visits, looked);
            last = looked;
        }
    }
    /// Mostly a moment, so that the lock often changes hands; now and then longer than a lease, so
    /// that it is renewed, lost, or believed in while the servers fail.
    Instant some_time() {
        const std::uint64_t most_ms = pick(random_, 6) == 0 ? 5000 : 40;
        return static_cast<Instant>(pick(random_, most_ms)) * 1'000'000;
    }
    /// One that is overdue was announced before, if this process ran at the time.
    void see_the_loss(const Hold& hold, Instant since_last_look) {
        if (hold.loss() != Loss::overdue || since_last_look > told_before_ns) return;
        if (!hold.lost().stop_requested()) journal_.complain("a loss that was not announced");
    }

    using Numbers = std::vector<std::optional<std::uint64_t>>;
    static bool is_exclusive(const Visit& visit) { return visit.weight == visit.capacity; }
    Numbers begin_writing(const std::vector<Visit>& visits) {
        Numbers read;
        for (const Visit& one : visits) {
            read.push_back(is_exclusive(one) ? sink_.raise(one.resource, one.fence) : std::nullopt);
        }
        return read;
    }
    void finish_writing(const std::vector<Visit>& visits, const Numbers& read) {
        for (std::size_t i = 0; i < visits.size(); ++i) {
            if (read[i]) sink_.write(visits[i].resource, visits[i].fence, *read[i] + 1);
        }
    }

    const Client& client_;
    Journal& journal_;
    SinkVisitor sink_;
    const WorkerOrders& orders_;
    const Abilities& abilities_;
    Random random_;
    const std::string prefix_;
    std::uint64_t visits_ = 0;
    std::chrono::milliseconds lease_{0};  ///< of the present visit
};

Client client_of(const WorkerOrders& orders) {
    if (orders.broken.empty()) return connect(orders.url);
    OpenedStore opened = open_store(orders.url);
    return core::Context::client(
        test::client_of({.store = broken(orders.broken, std::move(opened.store)),
                         .prefix = std::move(opened.prefix)}));
}

/// Patiently: what is to be seen is the store, not how long it takes to be there.
Client connected(const WorkerOrders& orders) {
    for (;;) {
        try {
            return client_of(orders);
        } catch (const Error& error) {
            if (error.code() != errc::unreachable) throw;
        }
    }
}

}  // namespace

std::vector<std::string> mutexes() {
    return {"orders/0", "orders/1", "orders/2", "orders/3", "orders/4", "orders/5"};
}

std::vector<std::string> resources(const Abilities& abilities) {
    auto all = mutexes();
    if (abilities.shares) all.emplace_back(table_name);
    if (abilities.permits) all.emplace_back(pool_name);
    return all;
}

int work(const WorkerOrders& orders) {
    Journal journal(orders.journals / std::to_string(getpid()));
    const Client client = connected(orders);
    std::vector<std::jthread> threads;
    for (int i = 0; i < own_threads; ++i) {
        threads.emplace_back([&, i](const std::stop_token& stop) {
            try {
                Contention(client, journal, orders, i).run(stop);
            } catch (const std::exception& error) {
                journal.complain(error.what());
            }
        });
    }
    std::string line;
    std::getline(std::cin, line);
    return 0;
}

}  // namespace holdfast::chaos
