// The etcd store against raw calls and the Mutex of etcd's own Go client, on a server of its own
// whose data are in memory, so that no disk hides what each of them costs. Both sides of a
// comparison are measured in turns in one run, for on a shared machine only their ratio means
// something.
#include <array>
#include <chrono>
#include <string>

#include <holdfast/holdfast.hpp>

#include "contest.hpp"
#include "long_line.hpp"
#include "measure.hpp"
#include "parts.hpp"
#include "raw_etcd.hpp"
#include "servers/etcd_server.hpp"

namespace {

using namespace std::chrono_literals;
using bench::Comparison;
using bench::median;
using bench::pair;
using bench::sample;
using bench::Samples;
using holdfast::test::EtcdServer;

constexpr double us(double ns) {
    return ns / 1000;
}

// --- one process, nobody else -------------------------------------------------------------------

constexpr int pair_rounds = 100;
constexpr int pairs_a_round = 25;

/// As long as the ones that a lock has.
const std::string raw_key(90, 'k');
const std::string raw_value(60, 'v');

void raw_pair(bench::RawEtcd& raw) {
    raw.put(raw_key, raw_value);
    raw.remove(raw_key);
}

void uncontended(bench::Report& report) {
    const EtcdServer server;
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        bench::RawEtcd raw(server.port());
        auto client = holdfast::connect(server.url());
        auto mutex = client.mutex("uncontended");
        Samples warm_up;
        Samples theirs;
        Samples ours;
        for (int round = 0; round < pair_rounds; ++round) {
            sample(round < 5 ? warm_up : theirs, pairs_a_round, [&] { raw_pair(raw); });
            sample(round < 5 ? warm_up : ours, pairs_a_round, [&] { pair(mutex); });
        }
        medians = {.theirs = median(theirs), .ours = median(ours)};
    });
    report.figure("raw put and delete, p50", us(medians.theirs), "us");
    report.figure("Mutex acquire and release, p50", us(medians.ours), "us");
    report.at_most("  ratio", medians.ours / medians.theirs, 1.15, "");
}

// --- eight in line ------------------------------------------------------------------------------

constexpr int contenders = 8;
constexpr int contest_rounds = 15;
constexpr auto contest = 1s;

void hand_offs(bench::Report& report) {
    const EtcdServer server;
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        bench::Peer go({HOLDFAST_BENCH_GO_MUTEX, server.address()});
        bench::Contenders ours_in_line(server.url(), contenders);
        go.holds_a_second(contenders, contest);
        Samples theirs;
        Samples ours;
        for (int round = 0; round < contest_rounds; ++round) {
            theirs.push_back(go.holds_a_second(contenders, contest));
            ours.push_back(ours_in_line.holds_a_second(contest));
        }
        medians = {.theirs = median(theirs), .ours = median(ours)};
    });
    report.figure("8 with Go's Mutex, hand-offs a second", medians.theirs, "");
    report.figure("8 with a Mutex, hand-offs a second", medians.ours, "");
    report.at_least("  ratio", medians.ours / medians.theirs, 1.3, "");
}

// --- what the server is asked -------------------------------------------------------------------

/// What a server has done for its clients.
struct Work {
    double writes = 0;  ///< transactions that the members had to agree about
    double reads = 0;
    double leases = 0;  ///< granted
    double events = 0;

    Work operator-(const Work& before) const {
        return {writes - before.writes, reads - before.reads, leases - before.leases,
                events - before.events};
    }
    Work operator/(double count) const {
        return {writes / count, reads / count, leases / count, events / count};
    }
    double sum() const { return writes + reads + leases + events; }
};

class CountingServer {
public:
    std::string url() const { return server_.url(); }
    /// So far. Renewals are not counted: they come with time, not with holds.
    Work work() const {
        const double requests = server_.counted("etcdserverpb.KV", "Txn") +
                                server_.counted("etcdserverpb.KV", "Range") +
                                server_.counted("etcdserverpb.KV", "Put") +
                                server_.counted("etcdserverpb.KV", "DeleteRange");
        const double leases = server_.counted("etcdserverpb.Lease", "LeaseGrant");
        // A client that ends gives its leases back.
        const double revoked = server_.counted("etcdserverpb.Lease", "LeaseRevoke");
        const double agreed = server_.measured("etcd_server_proposals_committed_total");
        const double writes = agreed - leases - revoked;
        return {.writes = writes,
                .reads = requests - writes,
                .leases = leases,
                .events = server_.measured("etcd_debugging_mvcc_events_total")};
    }

private:
    EtcdServer server_;
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
    report.at_most("write transactions for each acquire and release", work.writes, 2, "");
    report.at_most("  reads, and events", work.reads + work.events, 0, "");
    report.at_most("  leases granted", work.leases, 0, "");
}

void requests_of_a_line(bench::Report& report, const CountingServer& server, int count) {
    const Work work = bench::work_of_a_line(server, count);
    report.at_most(std::to_string(count) + " waiters: write transactions for each hand-off",
                   work.writes, 1, "");
    // Those here give it back at once, and a few are told of their own key before the server has
    // read that they watch it no more.
    report.at_most("  events", work.events, 1.05, "");
    report.figure("  reads", work.reads, "");
}

void requests(bench::Report& report) {
    const CountingServer server;
    requests_of_pairs(report, server);
    for (const int count : {10, 100, 500}) requests_of_a_line(report, server, count);
}

// --- what is left behind ------------------------------------------------------------------------

constexpr int pairs_before = 10'000;
constexpr int pairs_measured = 1'000;

/// A server remembers deleted keys until it is compacted, which by itself it never is.
void history(bench::Report& report) {
    const EtcdServer server;
    auto& medians = bench::shared_between_processes<Comparison>();
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(server.url());
        auto used = client.mutex("used");
        for (int i = 0; i < pairs_before; ++i) pair(used);
        Samples fresh_ones;
        Samples used_one;
        for (int i = 0; i < pairs_measured; ++i) {
            auto fresh = client.mutex("fresh/" + std::to_string(i / 10));
            sample(fresh_ones, 1, [&] { pair(fresh); });
            sample(used_one, 1, [&] { pair(used); });
        }
        medians = {.theirs = median(fresh_ones), .ours = median(used_one)};
    });
    report.figure("names that are hardly used, p50", us(medians.theirs), "us");
    report.figure("one that was used 10 000 times, p50", us(medians.ours), "us");
    report.at_most("  ratio", medians.ours / medians.theirs, 1.1, "");
}

// --- all of it ----------------------------------------------------------------------------------

constexpr std::array parts{
    bench::Part{"uncontended", uncontended},
    bench::Part{"hand_offs", hand_offs},
    bench::Part{"requests", requests},
    bench::Part{"history", history},
};

}  // namespace

int main(int count, char** words) {
    return bench::run_parts(parts, {words, static_cast<std::size_t>(count)});
}
