// The Redis store against raw hiredis and against redis-py's Lock, on a server of its own. Both
// sides of a comparison are measured in turns in one run, for on a shared machine only their ratio
// means something.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <sstream>
#include <string_view>
#include <thread>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"
#include "raw_redis.hpp"
#include "servers/redis_server.hpp"
#include "support/child.hpp"

namespace {

using namespace std::chrono_literals;
using bench::median;
using bench::now_ns;
using bench::RawLock;
using bench::RawRedis;
using bench::sample;
using bench::Samples;
using holdfast::test::Child;
using holdfast::test::RedisServer;

constexpr double us(double ns) {
    return ns / 1000;
}

void pair(holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    hold.release();
}

void pair(RawLock& lock) {
    lock.acquire();
    lock.release();
}

// --- one process, nobody else -------------------------------------------------------------------

struct Uncontended {
    double raw = 0;
    double ours = 0;
    double requests = 0;
};

double requests_a_pair(RawRedis& redis, holdfast::Mutex& mutex) {
    constexpr int pairs = 500;
    const std::int64_t before = redis.requests();
    for (int i = 0; i < pairs; ++i) pair(mutex);
    return static_cast<double>(redis.requests() - before) / pairs;
}

void uncontended(bench::Report& report, const RedisServer& server) {
    auto& result = bench::shared_between_processes<Uncontended>();
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(server.url());
        auto mutex = client.mutex("uncontended");
        RawRedis redis(server.port());
        RawLock raw_lock(redis, "uncontended", client.owner());
        Samples raw;
        Samples ours;
        for (int round = 0; round < 300; ++round) {
            sample(raw, 20, [&] { pair(raw_lock); });
            sample(ours, 20, [&] { pair(mutex); });
        }
        result = {median(raw), median(ours), requests_a_pair(redis, mutex)};
    });
    report.at_most("calls of scripts for acquire and release", result.requests, 2, "");
    report.figure("raw FCALL enter and leave, p50", us(result.raw), "us");
    report.figure("Mutex acquire and release, p50", us(result.ours), "us");
    report.at_most("  ratio", result.ours / result.raw, 1.15, "");
}

// --- many threads, each with a resource of its own ----------------------------------------------

constexpr int thread_count = 64;
constexpr int thread_rounds = 31;
constexpr auto thread_round = 250ms;

/// Pairs a second of all threads together. `work(number, repeat)` prepares what it needs, and calls
/// `repeat(pair)`.
template <class Work>
std::int64_t pairs_a_second(const Work& work) {
    std::barrier begin(thread_count + 1);
    std::atomic<bool> over = false;
    std::atomic<std::int64_t> pairs = 0;
    const auto repeat = [&](const auto& one_pair) {
        begin.arrive_and_wait();
        std::int64_t mine = 0;
        for (; !over; ++mine) one_pair();
        pairs += mine;
    };
    std::vector<std::jthread> threads;
    for (int number = 0; number < thread_count; ++number) {
        threads.emplace_back([&, number] { work(number, repeat); });
    }
    begin.arrive_and_wait();
    const std::int64_t start = now_ns();
    std::this_thread::sleep_for(thread_round);
    over = true;
    threads.clear();
    return pairs * 1'000'000'000 / (now_ns() - start);
}

struct Rates {
    double raw = 0;
    double ours = 0;
    double ratio = 0;
};

Rates rates_of_threads(const RedisServer& server) {
    auto client = holdfast::connect(server.url());
    const auto name = [](int number) { return "threads/" + std::to_string(number); };
    Samples raw;
    Samples ours;
    Samples thousandths;
    for (int round = 0; round < thread_rounds; ++round) {
        raw.push_back(pairs_a_second([&](int number, const auto& repeat) {
            RawRedis redis(server.port());
            RawLock lock(redis, name(number), client.owner());
            repeat([&] { pair(lock); });
        }));
        ours.push_back(pairs_a_second([&](int number, const auto& repeat) {
            auto mutex = client.mutex(name(number));
            repeat([&] { pair(mutex); });
        }));
        // Of neighbours in time: the machine may be slower a second later, for both.
        thousandths.push_back(1000 * ours.back() / raw.back());
    }
    return {median(raw), median(ours), median(thousandths) / 1000};
}

void threads(bench::Report& report, const RedisServer& server) {
    auto& rates = bench::shared_between_processes<Rates>();
    bench::in_processes(1, [&](int) { rates = rates_of_threads(server); });
    report.figure("64 threads, a raw connection each, pairs a second", rates.raw, "");
    report.figure("64 threads through one client, pairs a second", rates.ours, "");
    report.at_least("  ratio", rates.ratio, 1.5, "");
}

// --- chains of asynchronous acquisitions
// ----------------------------------------------------------

constexpr int chain_count = 1000;
constexpr int chain_rounds = 15;
constexpr auto chain_round = 400ms;

/// One name that is taken, given back and taken again, without a thread that waits for it.
class Chain {
public:
    Chain(const holdfast::Client& client, int number, std::atomic<std::int64_t>& pairs,
          std::atomic<int>& alive)
        : mutex_(client.mutex("chains/" + std::to_string(number))), pairs_(pairs), alive_(alive) {}

    void go_on() {
        if (over) return ended();
        mutex_.async_acquire([this](const std::exception_ptr& failure, holdfast::Attempt hold) {
            if (failure || !hold) return ended();
            ++pairs_;
            hold = {};
            go_on();
        });
    }

    static inline std::atomic<bool> over = false;

private:
    void ended() {
        if (--alive_ == 0) alive_.notify_all();
    }

    holdfast::Mutex mutex_;
    std::atomic<std::int64_t>& pairs_;
    std::atomic<int>& alive_;
};

std::int64_t pairs_a_second_of_chains(const holdfast::Client& client) {
    std::atomic<std::int64_t> pairs = 0;
    std::atomic<int> alive = chain_count;
    Chain::over = false;
    std::deque<Chain> chains;
    for (int i = 0; i < chain_count; ++i) chains.emplace_back(client, i, pairs, alive);
    const std::int64_t start = now_ns();
    for (Chain& chain : chains) chain.go_on();
    std::this_thread::sleep_for(chain_round);
    Chain::over = true;
    for (int left = alive; left != 0; left = alive) alive.wait(left);
    return pairs * 1'000'000'000 / (now_ns() - start);
}

/// What redis-benchmark -P 16 does with its 50 connections: on each 16 calls at once, and the next
/// 16 when those are answered.
class RawPipelines {
public:
    RawPipelines(int port, const std::string& owner) {
        for (int i = 0; i < connections; ++i) {
            redis_.push_back(std::make_unique<RawRedis>(port));
            std::vector<RawLock>& locks = locks_.emplace_back();
            for (int j = 0; j < depth; ++j) {
                locks.emplace_back(*redis_.back(),
                                   "pipelines/" + std::to_string(i) + "/" + std::to_string(j),
                                   owner);
            }
        }
    }

    std::int64_t pairs_a_second() {
        std::int64_t pairs = 0;
        const std::int64_t start = now_ns();
        const std::int64_t end = start + std::chrono::nanoseconds{chain_round}.count();
        for (; now_ns() < end; pairs += connections * depth) {
            for_each([](RawLock& lock) { lock.ask_to_acquire(); });
            for_each_answer([](RawLock& lock) { lock.acquired(); });
            for_each([](RawLock& lock) { lock.ask_to_release(); });
            for_each_answer([](RawLock& lock) { lock.released(); });
        }
        return pairs * 1'000'000'000 / (now_ns() - start);
    }

private:
    static constexpr int connections = 50;
    static constexpr int depth = 16;

    template <class Ask>
    void for_each(Ask ask) {
        for (std::size_t i = 0; i < redis_.size(); ++i) {
            for (RawLock& lock : locks_[i]) ask(lock);
            redis_[i]->flush();
        }
    }
    template <class Hear>
    void for_each_answer(Hear hear) {
        for (std::vector<RawLock>& locks : locks_) {
            for (RawLock& lock : locks) hear(lock);
        }
    }

    std::vector<std::unique_ptr<RawRedis>> redis_;
    std::vector<std::vector<RawLock>> locks_;
};

Rates rates_of_chains(const RedisServer& server) {
    auto client = holdfast::connect(server.url());
    RawPipelines pipelines(server.port(), client.owner());
    Samples raw;
    Samples ours;
    Samples thousandths;
    for (int round = 0; round < chain_rounds; ++round) {
        raw.push_back(pipelines.pairs_a_second());
        ours.push_back(pairs_a_second_of_chains(client));
        thousandths.push_back(1000 * ours.back() / raw.back());
    }
    return {median(raw), median(ours), median(thousandths) / 1000};
}

void chains(bench::Report& report, const RedisServer& server) {
    auto& rates = bench::shared_between_processes<Rates>();
    bench::in_processes(1, [&](int) { rates = rates_of_chains(server); });
    report.figure("raw FCALL pipelined 16 deep on 50 connections, pairs a second", rates.raw, "");
    report.figure("1000 asynchronous chains of one client, pairs a second", rates.ours, "");
    report.at_least("  ratio", rates.ratio, 0.6, "");
}

// --- two processes hand over --------------------------------------------------------------------

/// Long enough for the waiting side, and the server, to be asleep.
constexpr std::int64_t pause_ns = 150'000;

/// One process holds and releases, the other waits and enters.
struct HandOff {
    bench::Barrier barrier{2};
    std::atomic<int> waiting = 0;
    std::atomic<std::int64_t> released_at = 0;
};

/// Counts who stands in line, over all processes.
class CountingWaiters final : public holdfast::Observer {
public:
    explicit CountingWaiters(std::atomic<int>& waiting) : waiting_(waiting) {}
    void waiting(std::string_view /*resource*/) override { ++waiting_; }

private:
    std::atomic<int>& waiting_;
};

holdfast::Client connect_counting(const std::string& url, std::atomic<int>& waiting) {
    return holdfast::connect(url, {.observer = std::make_shared<CountingWaiters>(waiting)});
}

void await(const std::atomic<int>& number, int expected) {
    while (number < expected) std::this_thread::sleep_for(20us);
}

void give_away(HandOff& shared, holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    shared.waiting = 0;
    shared.barrier.wait();
    await(shared.waiting, 1);
    bench::spin_for_ns(pause_ns);
    shared.released_at = now_ns();
    hold.release();
    shared.barrier.wait();
}

std::int64_t receive(HandOff& shared, holdfast::Mutex& mutex) {
    shared.barrier.wait();
    holdfast::Hold hold = mutex.acquire();
    const std::int64_t admitted_at = now_ns();
    // Before the other one comes again: it must not wait itself.
    hold.release();
    shared.barrier.wait();
    return admitted_at - shared.released_at;
}

constexpr int hand_off_rounds = 40;
constexpr int hand_offs_a_round = 50;

struct HandOffMedians {
    double ping = 0;
    double raw = 0;
    double ours = 0;
};

void raw_round_trips(RawRedis& redis, RawLock& lock, Samples& ping, Samples& enter) {
    for (int i = 0; i < hand_offs_a_round; ++i) {
        bench::spin_for_ns(pause_ns);
        sample(ping, 1, [&] { redis.ping(); });
        bench::spin_for_ns(pause_ns);
        sample(enter, 1, [&] { lock.acquire(); });
        lock.release();
    }
}

void hand_off(bench::Report& report, const RedisServer& server) {
    auto& shared = bench::shared_between_processes<HandOff>();
    auto& medians = bench::shared_between_processes<HandOffMedians>();
    bench::in_processes(2, [&](int number) {
        auto client = connect_counting(server.url(), shared.waiting);
        auto mutex = client.mutex("hand_off");
        RawRedis redis(server.port());
        RawLock lock(redis, "hand_off", client.owner());
        Samples ping;
        Samples enter;
        Samples ours;
        for (int i = 0; i < hand_off_rounds * hand_offs_a_round; ++i) {
            if (number == 0) {
                if (i % hand_offs_a_round == 0) raw_round_trips(redis, lock, ping, enter);
                give_away(shared, mutex);
            } else {
                ours.push_back(receive(shared, mutex));
            }
        }
        if (number == 0) {
            medians.ping = median(ping);
            medians.raw = median(enter);
        } else {
            medians.ours = median(ours);
        }
    });
    report.figure("raw PING, p50", us(medians.ping), "us");
    report.figure("raw FCALL enter, p50", us(medians.raw), "us");
    report.figure("release to admission in another process, p50", us(medians.ours), "us");
    report.figure("  ratio to PING", medians.ours / medians.ping, "");
    report.at_most("  ratio to FCALL", medians.ours / medians.raw, 2, "");
}

// --- a long line --------------------------------------------------------------------------------

constexpr int line_processes = 5;

struct LongLine {
    bench::Barrier barrier{line_processes + 1};
    std::atomic<int> waiting = 0;
    std::atomic<int> admitted = 0;
    double requests = 0;
    double messages = 0;
    double microseconds = 0;
};

void stand_in_line(LongLine& line, const std::string& url, int count) {
    auto client = connect_counting(url, line.waiting);
    auto mutex = client.mutex("line");
    line.barrier.wait();
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&] {
            const holdfast::Hold hold = mutex.acquire();
            ++line.admitted;
        });
    }
}

/// What a client asks when it first listens is no part of a hand-off.
void await_silence(RawRedis& redis) {
    for (std::int64_t seen = -1, now = redis.requests(); seen != now; now = redis.requests()) {
        seen = now;
        std::this_thread::sleep_for(100ms);
    }
}

void let_pass(LongLine& line, const RedisServer& server, int count) {
    auto client = holdfast::connect(server.url());
    auto mutex = client.mutex("line");
    RawRedis redis(server.port());
    holdfast::Hold hold = mutex.acquire();
    line.barrier.wait();
    await(line.waiting, count);
    await_silence(redis);
    const std::int64_t requests = redis.requests();
    const std::int64_t messages = redis.calls_of("publish");
    const std::int64_t start = now_ns();
    hold.release();
    await(line.admitted, count);
    line.microseconds = us(static_cast<double>(now_ns() - start)) / count;
    line.requests = static_cast<double>(redis.requests() - requests) / count;
    line.messages = static_cast<double>(redis.calls_of("publish") - messages) / count;
}

void long_line(bench::Report& report, const RedisServer& server) {
    for (const int count : {10, 100, 500}) {
        auto& shared = bench::shared_between_processes<LongLine>();
        bench::in_processes(line_processes + 1, [&](int number) {
            if (number < line_processes) {
                stand_in_line(shared, server.url(), count / line_processes);
            } else {
                let_pass(shared, server, count);
            }
        });
        const std::string who = std::to_string(count) + " waiters: ";
        report.at_most(who + "requests for each hand-off", shared.requests, 3, "");
        report.figure("  messages", shared.messages, "");
        report.figure("  time from admission to admission", shared.microseconds, "us");
    }
}

// --- beside redis-py ----------------------------------------------------------------------------

/// A process with redis-py's Lock: see redis_py_lock.py.
class RedisPy {
public:
    RedisPy(const RedisServer& server, const std::string& name)
        : process_({HOLDFAST_BENCH_PYTHON, HOLDFAST_BENCH_FOLDER "/redis_py_lock.py",
                    std::to_string(server.port()), name}) {}

    void say(const std::string& request) { process_.say(request); }
    std::string hear() {
        const auto line = process_.hear();
        if (!line) throw std::runtime_error("redis_py_lock.py gives no answer");
        return *line;
    }
    std::int64_t hear_time() { return std::stoll(hear()); }

private:
    Child process_;
};

void add_pairs(Samples& samples, RedisPy& python, int count) {
    python.say("pairs " + std::to_string(count));
    std::istringstream times(python.hear());
    for (std::int64_t time = 0; times >> time;) samples.push_back(time);
}

Rates medians_of_pairs(const RedisServer& server) {
    RedisPy python(server, "theirs");
    auto client = holdfast::connect(server.url() + "?layout=plain");
    auto mutex = client.mutex("ours");
    Samples theirs;
    Samples ours;
    for (int round = 0; round < 50; ++round) {
        add_pairs(theirs, python, 40);
        sample(ours, 40, [&] { pair(mutex); });
    }
    return {median(theirs), median(ours)};
}

/// The waiter polls: so the release comes at any moment of its period.
std::int64_t their_hand_off(RedisPy& holder, RedisPy& waiter) {
    constexpr std::int64_t period = 100'000;
    static std::minstd_rand random{1};
    holder.say("hold");
    holder.hear();
    waiter.say("wait");
    waiter.hear();
    const auto phase = std::uniform_int_distribution<std::int64_t>(0, period)(random);
    std::this_thread::sleep_for(20ms + std::chrono::microseconds{phase});
    holder.say("release");
    const std::int64_t released_at = holder.hear_time();
    return waiter.hear_time() - released_at;
}

constexpr int plain_rounds = 10;
constexpr int our_hand_offs_a_round = 50;
constexpr int their_hand_offs_a_round = 4;

struct PlainHandOff {
    HandOff hand_off;
    Rates medians;
};

void give_away_plain(PlainHandOff& shared, const RedisServer& server, holdfast::Mutex& mutex) {
    RedisPy holder(server, "theirs");
    RedisPy waiter(server, "theirs");
    Samples theirs;
    for (int round = 0; round < plain_rounds; ++round) {
        for (int i = 0; i < their_hand_offs_a_round; ++i)
            theirs.push_back(their_hand_off(holder, waiter));
        for (int i = 0; i < our_hand_offs_a_round; ++i) give_away(shared.hand_off, mutex);
    }
    shared.medians.raw = median(theirs);
}

void receive_plain(PlainHandOff& shared, holdfast::Mutex& mutex) {
    Samples ours;
    for (int i = 0; i < plain_rounds * our_hand_offs_a_round; ++i) {
        ours.push_back(receive(shared.hand_off, mutex));
    }
    shared.medians.ours = median(ours);
}

void redis_py(bench::Report& report, const RedisServer& server) {
    auto& pairs = bench::shared_between_processes<Rates>();
    bench::in_processes(1, [&](int) { pairs = medians_of_pairs(server); });
    report.figure("redis-py Lock acquire and release, p50", us(pairs.raw), "us");
    report.figure("Mutex acquire and release, plain layout, p50", us(pairs.ours), "us");
    report.at_least("  times as fast", pairs.raw / pairs.ours, 2, "");

    auto& shared = bench::shared_between_processes<PlainHandOff>();
    bench::in_processes(2, [&](int number) {
        auto client = connect_counting(server.url() + "?layout=plain", shared.hand_off.waiting);
        auto mutex = client.mutex("ours");
        if (number == 0) {
            give_away_plain(shared, server, mutex);
        } else {
            receive_plain(shared, mutex);
        }
    });
    report.figure("redis-py release to admission, p50", us(shared.medians.raw), "us");
    report.figure("ours, plain layout, p50", us(shared.medians.ours), "us");
    report.at_least("  times shorter", shared.medians.raw / shared.medians.ours, 20, "");
}

// --- what it costs the server -------------------------------------------------------------------

constexpr int server_rounds = 5;
constexpr int chunks_a_round = 2;
constexpr int pairs_a_chunk = 1000;

/// What the server spends on a pair, in nanoseconds, by each.
struct ServerTime {
    double theirs = 0;
    double ours = 0;
    double plain = 0;
};

/// That of requests alone: a script's time has all that it calls in it. redis-py takes its lock by
/// SET, and gives it back by a script; what ours call by themselves is in theirs.
template <class Pairs>
std::int64_t server_time_of(RawRedis& redis, bool sets, const Pairs& pairs) {
    const auto spent = [&] {
        return redis.microseconds_of_scripts() + (sets ? redis.microseconds_of("set") : 0);
    };
    const std::int64_t before = spent();
    pairs();
    return 1000 * (spent() - before) / pairs_a_chunk;
}

ServerTime server_times(const RedisServer& server) {
    RawRedis redis(server.port());
    RedisPy python(server, "theirs");
    auto client = holdfast::connect(server.url());
    auto plain_client = holdfast::connect(server.url() + "?layout=plain");
    auto mutex = client.mutex("server_time");
    auto plain_mutex = plain_client.mutex("server_time");
    const auto repeat = [](holdfast::Mutex& one) {
        for (int i = 0; i < pairs_a_chunk; ++i) pair(one);
    };
    Samples theirs, ours, plain, unused;
    // In turns, so that whatever else the machine does is the same for all.
    for (int round = 0; round < server_rounds; ++round) {
        std::int64_t sum[3] = {};
        for (int i = 0; i < chunks_a_round; ++i) {
            sum[0] +=
                server_time_of(redis, true, [&] { add_pairs(unused, python, pairs_a_chunk); });
            sum[1] += server_time_of(redis, false, [&] { repeat(mutex); });
            sum[2] += server_time_of(redis, false, [&] { repeat(plain_mutex); });
        }
        theirs.push_back(sum[0] / chunks_a_round);
        ours.push_back(sum[1] / chunks_a_round);
        plain.push_back(sum[2] / chunks_a_round);
    }
    return {median(theirs), median(ours), median(plain)};
}

void server_time(bench::Report& report, const RedisServer& server) {
    auto& times = bench::shared_between_processes<ServerTime>();
    bench::in_processes(1, [&](int) { times = server_times(server); });
    report.figure("redis-py Lock, of the server's time for a pair", us(times.theirs), "us");
    report.figure("Mutex, of the server's time for a pair", us(times.ours), "us");
    report.at_most("  times as much", times.ours / times.theirs, 1.6, "");
    report.figure("Mutex, plain layout", us(times.plain), "us");
    report.at_most("  times as much", times.plain / times.theirs, 1.6, "");
}

// --- all of it ----------------------------------------------------------------------------------

struct Part {
    std::string_view name;
    void (*measure)(bench::Report&, const RedisServer&);
};
constexpr std::array parts{
    Part{"uncontended", uncontended}, Part{"threads", threads}, Part{"chains", chains},
    Part{"hand_off", hand_off},       Part{"line", long_line},  Part{"redis_py", redis_py},
    Part{"server_time", server_time},
};

std::vector<Part> parts_named(const std::vector<std::string_view>& names) {
    if (names.empty()) return {parts.begin(), parts.end()};
    std::vector<Part> chosen;
    for (const std::string_view name : names) {
        const auto part = std::ranges::find(parts, name, &Part::name);
        if (part == parts.end()) throw std::runtime_error("no part " + std::string(name));
        chosen.push_back(*part);
    }
    return chosen;
}

}  // namespace

/// [--check] [PART...]. --check: fails when a bar is missed.
int main(int count, char** words) {
    try {
        std::vector<std::string_view> names(words + 1, words + count);
        const bool check = std::erase(names, "--check") > 0;
        const auto chosen = parts_named(names);
        const RedisServer server;
        bench::Report report;
        for (const Part& part : chosen) part.measure(report, server);
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
