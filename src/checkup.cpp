#include <holdfast/checkup.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include <holdfast/holdfast.hpp>

#include "port/clock.hpp"
#include "stores/open_store.hpp"

namespace holdfast::inline v0 {

namespace {

using namespace std::chrono_literals;

/// All of it, the examination apart, takes two seconds at most: on a store that is far away fewer
/// of each.
constexpr auto time_for_round_trips = 300ms;
constexpr auto time_for_pairs = 400ms;
constexpr auto time_for_hand_offs = 600ms;
constexpr std::size_t most_of_each = 200;
/// Longer than any of these, and not in anybody's way for long should this process be killed.
constexpr auto lease = 5s;
/// How long a hand-off is waited for: where nobody is told of his turn, it is not measured.
constexpr auto patience = 600ms;

[[noreturn]] void fail(const Failure& failure) {
    throw Error(failure.code, failure.sentence);
}

/// Of a lock that nobody else has heard of.
std::string name_of_our_own() {
    constexpr const char* digits = "0123456789abcdef";
    std::random_device random;
    std::string name = "holdfast-check/";
    for (int i = 0; i < 16; ++i) name += digits[random() % 16];
    return name;
}

Spread spread_of(std::vector<std::chrono::nanoseconds> times) {
    if (times.empty()) return {};
    std::ranges::sort(times);
    const auto at = [&](std::size_t percent) {
        return times[std::min(times.size() * percent / 100, times.size() - 1)];
    };
    return {.p50 = at(50), .p99 = at(99), .count = times.size()};
}

/// Does it once at least, and again while there is time. It answers how long it took; nothing ends
/// it.
template <class Once>
Spread repeated_for(std::chrono::nanoseconds limit, Once once) {
    std::vector<std::chrono::nanoseconds> times;
    const Moment until = BootClock::now() + limit;
    do {
        const std::optional<std::chrono::nanoseconds> time = once();
        if (!time) break;
        times.push_back(*time);
    } while (BootClock::now() < until && times.size() < most_of_each);
    return spread_of(std::move(times));
}

/// Tells that a contender stands in line.
class LineWatcher final : public Observer {
public:
    void waiting(std::string_view /*resource*/) override {
        const std::lock_guard guard(mutex_);
        ++waiting_;
        changed_.notify_all();
    }
    bool await(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return waiting_ >= count; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t waiting_ = 0;
};

/// Two clients of one store, and a lock between them.
class Measuring {
public:
    explicit Measuring(const std::string& url)
        : theirs_(connect(url, {.observer = line_})),
          // `memory:` is another store for each that connects.
          mine_(url.starts_with("memory:") ? theirs_ : connect(url)),
          options_{.lease = std::min<std::chrono::milliseconds>(lease, mine_.usual_lease())} {}

    Spread round_trip() const {
        static_cast<void>(mine_.look_at(name_));  // what is done but once is over then
        return repeated_for(time_for_round_trips, [&] {
            const Moment asked = BootClock::now();
            static_cast<void>(mine_.look_at(name_));
            return std::optional(BootClock::now() - asked);
        });
    }

    Spread pair() const {
        Mutex mutex = mine_.mutex(name_, options_);
        mutex.acquire().release();
        return repeated_for(time_for_pairs, [&] {
            const Moment began = BootClock::now();
            mutex.acquire().release();
            return std::optional(BootClock::now() - began);
        });
    }

    Spread hand_off() {
        Mutex mutex = mine_.mutex(name_, options_);
        Mutex other = theirs_.mutex(name_, options_);
        std::size_t waited = 0;
        return repeated_for(time_for_hand_offs,
                            [&] { return handed_over(mutex, other, ++waited); });
    }

private:
    struct Arrival {
        Attempt attempt;
        Moment when;
    };

    /// From giving back to the next one's being in.
    std::optional<std::chrono::nanoseconds> handed_over(Mutex& mutex, Mutex& other,
                                                        std::size_t number) {
        Hold hold = mutex.acquire();
        const auto next = std::make_shared<std::promise<Arrival>>();
        auto arrived = next->get_future();
        other.async_try_acquire_for(patience,
                                    [next](const std::exception_ptr& failure, Attempt attempt) {
                                        const Moment when = BootClock::now();
                                        if (failure) return next->set_exception(failure);
                                        next->set_value({std::move(attempt), when});
                                    });
        const bool in_line = line_->await(number);
        const Moment gave_back = BootClock::now();
        hold.release();
        auto [attempt, when] = arrived.get();
        if (!attempt) return std::nullopt;
        attempt->release();
        if (!in_line) return std::nullopt;
        return when - gave_back;
    }

    const std::shared_ptr<LineWatcher> line_ = std::make_shared<LineWatcher>();
    const Client theirs_;
    const Client mine_;
    const std::string name_ = name_of_our_own();
    const LockOptions options_;
};

/// By how much the server's clock is ahead of ours.
std::optional<std::chrono::microseconds> ahead(const Examination& examination) {
    if (!examination.server_clock) return std::nullopt;
    const SystemClock ours;
    const Moment read =
        examination.clock_asked + (examination.clock_told - examination.clock_asked) / 2;
    const auto since = std::chrono::floor<std::chrono::microseconds>(ours.now() - read);
    const std::chrono::microseconds then =
        std::chrono::microseconds{ours.wall_microseconds()} - since;
    return *examination.server_clock - then;
}

/// More than clocks differ that anybody looks after, and than an answer is on its way.
constexpr auto most_between_clocks = 1s;

void judge_clock(Checkup& checkup) {
    if (!checkup.clock_ahead || std::chrono::abs(*checkup.clock_ahead) <= most_between_clocks) {
        return;
    }
    const auto tenths = std::chrono::round<std::chrono::duration<std::int64_t, std::deci>>(
        std::chrono::abs(*checkup.clock_ahead));
    const std::string amount =
        std::to_string(tenths.count() / 10) + "." + std::to_string(tenths.count() % 10);
    checkup.findings.push_back(
        {.severity = Severity::warning,
         .name = "store.clock",
         .fact = "the clock of the server is " + amount + " s " +
                 (checkup.clock_ahead->count() > 0 ? "ahead of" : "behind") + " this machine's",
         .consequence = "one of the two is wrong; when the server's is set forward, all leases end "
                        "early by as much, and two hold a lock until the first is told",
         .remedy = "have chrony or ntpd slew both clocks, and never set the server's while locks "
                   "are held"});
}

}  // namespace

Checkup check_up(std::string_view url) {
    const OpenedStore opened = open_store(url);
    const auto examined = opened.store->examine();
    if (!examined.ok()) fail(examined.failure());
    Checkup checkup{.store = opened.url,
                    .findings = examined.value().findings,
                    .round_trip = {},
                    .pair = {},
                    .hand_off = {},
                    .clock_ahead = ahead(examined.value())};
    judge_clock(checkup);
    Measuring measuring{std::string(url)};
    checkup.round_trip = measuring.round_trip();
    checkup.pair = measuring.pair();
    checkup.hand_off = measuring.hand_off();
    return checkup;
}

}  // namespace holdfast::inline v0
