// The ZooKeeper store against Curator's InterProcessMutex, on servers of its own. Both sides of a
// comparison are measured in turns in one run, for on a shared machine only their ratio means
// something.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include <holdfast/holdfast.hpp>

#include "contest.hpp"
#include "long_line.hpp"
#include "measure.hpp"
#include "parts.hpp"
#include "servers/zookeeper_server.hpp"

namespace {

using namespace std::chrono_literals;
using bench::Comparison;
using bench::median;
using bench::now_ns;
using bench::pair;
using bench::sample;
using bench::Samples;
using holdfast::test::ZookeeperServer;

constexpr double us(double ns) {
    return ns / 1000;
}

/// As it is without settings, where these matter: it waits for the disk before it answers, and
/// makes itself as fast as it can.
std::unique_ptr<ZookeeperServer> usual_server() {
    return std::make_unique<ZookeeperServer>(holdfast::test::ZookeeperOptions{
        .settings = {"tickTime=2000", "forceSync=yes", "preAllocSize=65536"},
        .java_flags = {"-XX:TieredStopAtLevel=4", "-Xmx1g"}});
}

bench::Peer curator_at(const ZookeeperServer& server) {
    return bench::Peer(
        {HOLDFAST_BENCH_JAVA, "-cp", HOLDFAST_BENCH_CURATOR_JARS, "CuratorLock", server.address()});
}

// --- one process, nobody else -------------------------------------------------------------------

constexpr int pair_rounds = 60;
constexpr int pairs_a_round = 25;
/// Until Java has compiled what it runs.
constexpr int rounds_to_warm_up = 120;

void uncontended(bench::Report& report) {
    const auto server = usual_server();
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        bench::Peer curator = curator_at(*server);
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

void hand_offs(bench::Report& report) {
    const auto server = usual_server();
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        bench::Peer curator = curator_at(*server);
        bench::Contenders ours_in_line(server->url(), contenders);
        curator.holds_a_second(contenders, 3 * contest);
        Samples theirs;
        Samples ours;
        for (int round = 0; round < contest_rounds; ++round) {
            theirs.push_back(curator.holds_a_second(contenders, contest));
            ours.push_back(ours_in_line.holds_a_second(contest));
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
    double sum() const { return writes + lists + other_reads + events; }
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

void requests_of_a_line(bench::Report& report, const CountingServer& server, int count) {
    const Work work = bench::work_of_a_line(server, count);
    report.at_most(std::to_string(count) + " waiters: writes for each hand-off", work.writes, 1,
                   "");
    report.at_most("  events", work.events, 1, "");
    report.at_most("  lists", work.lists, 1, "");
    report.figure("  other reads", work.other_reads, "");
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

constexpr std::array parts{
    bench::Part{"uncontended", uncontended},
    bench::Part{"hand_offs", hand_offs},
    bench::Part{"requests", requests},
    bench::Part{"names", names},
};

}  // namespace

int main(int count, char** words) {
    return bench::run_parts(parts, {words, static_cast<std::size_t>(count)});
}
