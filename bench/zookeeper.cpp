// The ZooKeeper store against Curator's InterProcessMutex, on servers of its own. Both sides of a
// comparison are measured in turns in one run, for on a shared machine only their ratio means
// something.
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"
#include "servers/zookeeper_server.hpp"
#include "support/child.hpp"

namespace {

using namespace std::chrono_literals;
using bench::median;
using bench::now_ns;
using bench::sample;
using bench::Samples;
using holdfast::test::Child;
using holdfast::test::ZookeeperServer;

constexpr double us(double ns) {
    return ns / 1000;
}

void pair(holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    hold.release();
}

/// As it is without settings, where these matter: it waits for the disk before it answers, and
/// makes itself as fast as it can.
std::unique_ptr<ZookeeperServer> usual_server() {
    return std::make_unique<ZookeeperServer>(holdfast::test::ZookeeperOptions{
        .settings = {"tickTime=2000", "forceSync=yes", "preAllocSize=65536"},
        .java_flags = {"-XX:TieredStopAtLevel=4", "-Xmx1g"}});
}

/// A process with Curator's InterProcessMutex: see CuratorLock.java.
class Curator {
public:
    explicit Curator(const ZookeeperServer& server)
        : process_({HOLDFAST_BENCH_JAVA, "-cp", HOLDFAST_BENCH_CURATOR_JARS, "CuratorLock",
                    server.address()}) {}

    Samples pairs(int count) { return numbers_for("pairs " + std::to_string(count)); }
    std::int64_t holds_a_second(int threads, std::chrono::milliseconds duration) {
        return numbers_for("contend " + std::to_string(threads) + " " +
                           std::to_string(duration.count()))
            .at(0);
    }

private:
    Samples numbers_for(const std::string& request) {
        process_.say(request);
        const auto line = process_.hear();
        if (!line) throw std::runtime_error("CuratorLock gives no answer");
        std::istringstream text(*line);
        return {std::istream_iterator<std::int64_t>(text), std::istream_iterator<std::int64_t>()};
    }

    Child process_;
};

struct Comparison {
    double theirs = 0;
    double ours = 0;
};

// --- one process, nobody else -------------------------------------------------------------------

constexpr int pair_rounds = 60;
constexpr int pairs_a_round = 25;
/// Until Java has compiled what it runs.
constexpr int rounds_to_warm_up = 120;

void uncontended(bench::Report& report) {
    const auto server = usual_server();
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        Curator curator(*server);
        auto client = holdfast::connect(server->url());
        auto mutex = client.mutex("uncontended");
        for (int round = 0; round < rounds_to_warm_up; ++round) curator.pairs(pairs_a_round);
        pair(mutex);
        Samples theirs;
        Samples ours;
        for (int round = 0; round < pair_rounds; ++round) {
            const Samples some = curator.pairs(pairs_a_round);
            theirs.insert(theirs.end(), some.begin(), some.end());
            sample(ours, pairs_a_round, [&] { pair(mutex); });
        }
        medians = {.theirs = median(theirs), .ours = median(ours)};
    });
    report.figure("Curator's acquire and release, p50", us(medians.theirs), "us");
    report.figure("Mutex acquire and release, p50", us(medians.ours), "us");
    report.at_most("  ratio", medians.ours / medians.theirs, 0.9, "");
}

// --- eight in line ------------------------------------------------------------------------------

constexpr int contenders = 8;
constexpr int contest_rounds = 15;
constexpr auto contest = 1s;

/// Threads with a client each, as Curator's.
class Contenders {
public:
    explicit Contenders(const std::string& url) {
        for (int number = 0; number < contenders; ++number) {
            clients_.push_back(holdfast::connect(url));
        }
    }

    std::int64_t holds_a_second() {
        std::atomic<std::int64_t> holds = 0;
        const std::int64_t start = now_ns();
        const std::int64_t end = start + std::chrono::nanoseconds{contest}.count();
        std::vector<std::jthread> threads;
        for (const holdfast::Client& client : clients_) {
            threads.emplace_back([&] {
                auto mutex = client.mutex("contest");
                for (; now_ns() < end; ++holds) pair(mutex);
            });
        }
        threads.clear();
        return holds * 1'000'000'000 / (now_ns() - start);
    }

private:
    std::vector<holdfast::Client> clients_;
};

void hand_offs(bench::Report& report) {
    const auto server = usual_server();
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        Curator curator(*server);
        Contenders ours_in_line(server->url());
        curator.holds_a_second(contenders, 3 * contest);
        Samples theirs;
        Samples ours;
        for (int round = 0; round < contest_rounds; ++round) {
            theirs.push_back(curator.holds_a_second(contenders, contest));
            ours.push_back(ours_in_line.holds_a_second());
        }
        medians = {.theirs = median(theirs), .ours = median(ours)};
    });
    report.figure("8 with Curator's mutex, hand-offs a second", medians.theirs, "");
    report.figure("8 with a Mutex, hand-offs a second", medians.ours, "");
    report.at_least("  ratio", medians.ours / medians.theirs, 1.15, "");
}

// --- what the server is asked -------------------------------------------------------------------

/// What a server has done for its clients.
struct Work {
    double writes = 0;
    double lists = 0;
    double other_reads = 0;
    double events = 0;

    Work operator-(const Work& before) const {
        return {writes - before.writes, lists - before.lists, other_reads - before.other_reads,
                events - before.events};
    }
    Work operator/(double count) const {
        return {writes / count, lists / count, other_reads / count, events / count};
    }
};

/// A server that writes down each request.
class CountingServer {
public:
    CountingServer()
        : server_({.settings = {"tickTime=2000"},
                   .java_flags = {"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server."
                                  "FinalRequestProcessor=debug"}}) {}

    std::string url() const { return server_.url(); }
    /// So far. Renewals are not counted: they come with time, not with holds.
    Work work() const {
        Work found;
        std::istringstream log(server_.log());
        for (std::string line; std::getline(log, line);) add(found, line);
        for (const char* const what : {"deleted", "children", "changed", "created"}) {
            found.events += server_.measured(std::string("sum_node_") + what + "_watch_count");
        }
        return found;
    }

private:
    static void add(Work& work, const std::string& line) {
        const std::string_view type = type_in(line);
        if (type.starts_with("create") || type.starts_with("delete") || type == "setData" ||
            type == "multi") {
            ++work.writes;
        } else if (type.starts_with("getChildren")) {
            ++work.lists;
        } else if (type == "exists" || type == "getData") {
            ++work.other_reads;
        }
    }
    /// Empty in a line that tells of no request.
    static std::string_view type_in(std::string_view line) {
        const auto request = line.find("Processing request:: ");
        const auto begin = line.find(" type:", request);
        if (request == std::string_view::npos || begin == std::string_view::npos) return {};
        line.remove_prefix(begin + std::string_view(" type:").size());
        return line.substr(0, line.find(' '));
    }

    ZookeeperServer server_;
};

void requests_of_pairs(bench::Report& report, const CountingServer& server) {
    constexpr int pairs = 500;
    auto& work = bench::shared_between_processes<Work>();
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(server.url());
        auto mutex = client.mutex("pairs");
        pair(mutex);
        const Work before = server.work();
        for (int i = 0; i < pairs; ++i) pair(mutex);
        work = (server.work() - before) / pairs;
    });
    report.at_most("writes for each acquire and release", work.writes, 2, "");
    report.at_most("  lists", work.lists, 1, "");
    report.at_most("  other reads, and events", work.other_reads + work.events, 0, "");
}

constexpr int line_processes = 5;

struct LongLine {
    bench::Barrier barrier{line_processes + 1};
    std::atomic<int> waiting = 0;
    std::atomic<int> admitted = 0;
    Work work;
};

/// Counts who stands in line, over all processes.
class CountingWaiters final : public holdfast::Observer {
public:
    explicit CountingWaiters(std::atomic<int>& waiting) : waiting_(waiting) {}
    void waiting(std::string_view /*resource*/) override { ++waiting_; }

private:
    std::atomic<int>& waiting_;
};

void await(const std::atomic<int>& number, int expected) {
    while (number < expected) std::this_thread::sleep_for(20us);
}

void stand_in_line(LongLine& line, const std::string& url, int count) {
    auto observer = std::make_shared<CountingWaiters>(line.waiting);
    auto client = holdfast::connect(url, {.observer = observer});
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

/// What a waiter asks when it comes is no part of a hand-off.
Work work_when_quiet(const CountingServer& server) {
    Work seen = server.work();
    for (;;) {
        std::this_thread::sleep_for(200ms);
        const Work now = server.work();
        const Work since = now - seen;
        if (since.writes + since.lists + since.other_reads + since.events == 0) return now;
        seen = now;
    }
}

void let_pass(LongLine& line, const CountingServer& server, int count) {
    auto client = holdfast::connect(server.url());
    auto mutex = client.mutex("line");
    holdfast::Hold hold = mutex.acquire();
    line.barrier.wait();
    await(line.waiting, count);
    const Work before = work_when_quiet(server);
    hold.release();
    await(line.admitted, count);
    line.work = work_when_quiet(server) - before;
    line.work.writes -= 1;  // the last of them gives it back to nobody
    line.work = line.work / count;
}

void requests_of_a_line(bench::Report& report, const CountingServer& server, int count) {
    auto& line = bench::shared_between_processes<LongLine>();
    bench::in_processes(line_processes + 1, [&](int number) {
        if (number < line_processes) {
            stand_in_line(line, server.url(), count / line_processes);
        } else {
            let_pass(line, server, count);
        }
    });
    report.at_most(std::to_string(count) + " waiters: writes for each hand-off", line.work.writes,
                   1, "");
    report.at_most("  events", line.work.events, 1, "");
    report.at_most("  lists", line.work.lists, 1, "");
    report.figure("  other reads", line.work.other_reads, "");
}

void requests(bench::Report& report) {
    const CountingServer server;
    requests_of_pairs(report, server);
    for (const int count : {10, 100, 500}) requests_of_a_line(report, server, count);
}

// --- what is left behind ------------------------------------------------------------------------

constexpr int names_used = 50'000;
constexpr int users_of_names = 16;

void use_names(const std::string& url) {
    auto client = holdfast::connect(url);
    std::atomic<int> next = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < users_of_names; ++i) {
        threads.emplace_back([&] {
            for (int number = next++; number < names_used; number = next++) {
                auto mutex = client.mutex("once/" + std::to_string(number));
                pair(mutex);
            }
        });
    }
}

void names(bench::Report& report) {
    const ZookeeperServer server(
        {.settings = {"tickTime=2000"}, .reaps_every = 1s, .java_flags = {"-Xmx1g"}});
    const double before = server.measured("znode_count");
    const std::int64_t start = now_ns();
    bench::in_processes(1, [&](int) { use_names(server.url()); });
    const double seconds = static_cast<double>(now_ns() - start) / 1e9;
    // Empty ones are found by one look, their parents by later ones.
    static_cast<void>(
        holdfast::test::await([&] { return server.measured("znode_count") <= before; }, 120s));
    report.figure("50 000 names used once, in a second", names_used / seconds, "");
    report.at_most("  nodes left", server.measured("znode_count") - before, 0, "");
}

// --- all of it ----------------------------------------------------------------------------------

struct Part {
    std::string_view name;
    void (*measure)(bench::Report&);
};
constexpr std::array parts{
    Part{"uncontended", uncontended},
    Part{"hand_offs", hand_offs},
    Part{"requests", requests},
    Part{"names", names},
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
        bench::Report report;
        for (const Part& part : parts_named(names)) part.measure(report);
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
