#pragma once

// What is measured of the stores in a database, against the client library that the store itself
// uses, on a durable server of its own. Both sides of a comparison are measured in turns in one
// run, for on a shared machine only their ratio means something.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"
#include "support/byte_proxy.hpp"

namespace bench {

using namespace std::chrono_literals;

/// A connection by the library, blocking, each statement a transaction of its own. The table
/// `by_hand` has the unique column `name`.
class RawDatabase {
public:
    virtual ~RawDatabase() = default;
    /// False when the row is there already.
    virtual bool insert(const std::string& name) = 0;
    virtual void remove(const std::string& name) = 0;
};

/// The server of one run, as the frame needs it.
struct SqlSite {
    std::string url;
    int port = 0;
    std::string (*url_through)(int port) = nullptr;  ///< of a proxy before it
    std::unique_ptr<RawDatabase> (*connect)(const SqlSite& site) = nullptr;
};

inline double us(double ns) {
    return ns / 1000;
}

inline void pair(holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    hold.release();
}

// --- one process, nobody else -------------------------------------------------------------------

struct Medians {
    double raw = 0;
    double ours = 0;
};

inline void uncontended(Report& report, const SqlSite& site) {
    auto& medians = shared_between_processes<Medians>();
    in_processes(1, [&](int) {
        auto client = holdfast::connect(site.url);
        auto mutex = client.mutex("uncontended");
        const auto database = site.connect(site);
        pair(mutex);
        Samples raw;
        Samples ours;
        for (int round = 0; round < 100; ++round) {
            sample(raw, 10, [&] {
                database->insert("uncontended");
                database->remove("uncontended");
            });
            sample(ours, 10, [&] { pair(mutex); });
        }
        medians = {.raw = median(raw), .ours = median(ours)};
    });
    report.figure("raw insert and delete, committed, p50", us(medians.raw), "us");
    report.figure("Mutex acquire and release, p50", us(medians.ours), "us");
    report.at_most("  ratio", medians.ours / medians.raw, 1.5, "");
}

// --- two processes hand over --------------------------------------------------------------------

/// One process holds and releases, the other waits and enters.
struct HandOff {
    Barrier barrier{2};
    std::atomic<int> waiting = 0;
    std::atomic<std::int64_t> released_at = 0;

    double raw = 0;
    double ours = 0;
    double ours_p95 = 0;
    double by_hand = 0;
};

class CountingWaiters final : public holdfast::Observer {
public:
    explicit CountingWaiters(std::atomic<int>& waiting) : waiting_(waiting) {}
    void waiting(std::string_view /*resource*/) override { ++waiting_; }

private:
    std::atomic<int>& waiting_;
};

inline void await(const std::atomic<int>& number, int expected) {
    while (number < expected) std::this_thread::sleep_for(20us);
}

/// The waiting side, and the server, are asleep by then. So is the server before the raw write that
/// this is compared with: to wake up takes its time.
constexpr auto until_asleep = 2ms;

inline void give_away(HandOff& shared, holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    shared.waiting = 0;
    shared.barrier.wait();
    await(shared.waiting, 1);
    std::this_thread::sleep_for(until_asleep);
    shared.released_at = now_ns();
    hold.release();
    shared.barrier.wait();
}

inline std::int64_t receive(HandOff& shared, holdfast::Mutex& mutex) {
    shared.barrier.wait();
    holdfast::Hold hold = mutex.acquire();
    const std::int64_t admitted_at = now_ns();
    // Before the other one comes again: it must not wait itself.
    hold.release();
    shared.barrier.wait();
    return admitted_at - shared.released_at;
}

constexpr auto polled_every = 100ms;

/// The waiter polls: so the release comes at any moment of its period.
inline void give_away_by_hand(HandOff& shared, RawDatabase& database) {
    static std::minstd_rand random{1};
    database.insert("by_hand");
    shared.waiting = 0;
    shared.barrier.wait();
    await(shared.waiting, 1);
    const auto period = std::chrono::microseconds{polled_every}.count();
    std::this_thread::sleep_for(
        std::chrono::microseconds{std::uniform_int_distribution<std::int64_t>(0, period)(random)});
    shared.released_at = now_ns();
    database.remove("by_hand");
    shared.barrier.wait();
}

inline std::int64_t receive_by_hand(HandOff& shared, RawDatabase& database) {
    shared.barrier.wait();
    while (!database.insert("by_hand")) {
        ++shared.waiting;
        std::this_thread::sleep_for(polled_every);
    }
    const std::int64_t admitted_at = now_ns();
    database.remove("by_hand");
    shared.barrier.wait();
    return admitted_at - shared.released_at;
}

constexpr int hand_off_rounds = 30;
constexpr int hand_offs_a_round = 20;

inline void give(HandOff& shared, holdfast::Mutex& mutex, RawDatabase& database) {
    Samples raw;
    for (int round = 0; round < hand_off_rounds; ++round) {
        for (int i = 0; i < hand_offs_a_round; ++i) {
            std::this_thread::sleep_for(until_asleep);
            sample(raw, 1, [&] { database.insert("raw"); });
            database.remove("raw");
            give_away(shared, mutex);
        }
        give_away_by_hand(shared, database);
    }
    shared.raw = median(raw);
}

inline void take(HandOff& shared, holdfast::Mutex& mutex, RawDatabase& database) {
    Samples ours;
    Samples by_hand;
    for (int round = 0; round < hand_off_rounds; ++round) {
        for (int i = 0; i < hand_offs_a_round; ++i) ours.push_back(receive(shared, mutex));
        by_hand.push_back(receive_by_hand(shared, database));
    }
    shared.ours = median(ours);
    shared.ours_p95 = quantile(ours, 0.95);
    shared.by_hand = median(by_hand);
}

inline void hand_off(Report& report, const SqlSite& site) {
    auto& shared = shared_between_processes<HandOff>();
    in_processes(2, [&](int number) {
        auto client = holdfast::connect(
            site.url, {.observer = std::make_shared<CountingWaiters>(shared.waiting)});
        auto mutex = client.mutex("hand_off");
        const auto database = site.connect(site);
        (number == 0 ? give : take)(shared, mutex, *database);
    });
    report.figure("raw insert, committed, p50", us(shared.raw), "us");
    report.figure("release to admission in another process, p50", us(shared.ours), "us");
    report.at_most("  ratio", shared.ours / shared.raw, 3, "");
    report.figure("  p95", us(shared.ours_p95), "us");
    report.at_most("  ratio", shared.ours_p95 / shared.raw, 10, "");
    report.figure("insert, or sleep 100 ms and try again, p50", us(shared.by_hand), "us");
    report.at_least("  times as long", shared.by_hand / shared.ours, 20, "");
}

// --- idle waiters -------------------------------------------------------------------------------

constexpr int idle_waiters = 50;
constexpr auto idle_lease = 3s;
constexpr int thirds = 12;

/// What a client sends for its waiters while nothing happens, in a third of their lease.
inline double requests_when_idle(const SqlSite& site) {
    auto holder = holdfast::connect(site.url);
    holdfast::test::ByteProxy proxy(site.port);
    std::atomic<int> waiting = 0;
    auto client = holdfast::connect(site.url_through(proxy.port()),
                                    {.observer = std::make_shared<CountingWaiters>(waiting)});
    std::vector<holdfast::Hold> holds;
    std::vector<std::jthread> threads;
    for (int i = 0; i < idle_waiters; ++i) {
        const std::string name = "idle/" + std::to_string(i);
        holds.push_back(holder.mutex(name, {.lease = 60s}).acquire());
        threads.emplace_back([&client, name](const std::stop_token& stop) {
            try {
                static_cast<void>(client.mutex(name, {.lease = idle_lease}).acquire(stop));
            } catch (const holdfast::Error&) {
                // Cancelled.
            }
        });
    }
    await(waiting, idle_waiters);
    // What they ask when they come is no part of it.
    std::this_thread::sleep_for(idle_lease / 3);
    const int before = proxy.requests();
    std::this_thread::sleep_for(idle_lease / 3 * thirds);
    const int after = proxy.requests();
    for (auto& thread : threads) thread.request_stop();
    return static_cast<double>(after - before) / thirds;
}

inline void idle(Report& report, const SqlSite& site) {
    auto& requests = shared_between_processes<double>();
    in_processes(1, [&](int) { requests = requests_when_idle(site); });
    report.at_most("50 idle waiters: requests of each in a third of a lease",
                   requests / idle_waiters, 1, "");
}

// --- all of it ----------------------------------------------------------------------------------

struct SqlPart {
    std::string_view name;
    void (*measure)(Report&, const SqlSite&);
};

/// [--check] [PART...]. --check: fails when a bar is missed.
inline int measure_sql(int count, char** words, const SqlSite& site) {
    constexpr std::array parts{SqlPart{"uncontended", uncontended}, SqlPart{"hand_off", hand_off},
                               SqlPart{"idle", idle}};
    const std::vector<std::string_view> asked(words + 1, words + count);
    const auto asks_for = [&](std::string_view word) {
        return std::ranges::find(asked, word) != asked.end();
    };
    const bool check = asks_for("--check");
    Report report;
    for (const SqlPart& part : parts) {
        if (asked.size() == (check ? 1U : 0U) || asks_for(part.name)) part.measure(report, site);
    }
    return check && report.missed() ? 1 : 0;
}

}  // namespace bench
