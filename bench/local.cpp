// The embedded store against what the operating system gives bare. Both sides of a comparison are
// measured in turns in one run, for on a shared machine only their ratio means something.
//
// The loops are our own and not Google Benchmark's: it measures one process and reports means, and
// here several processes hand over to each other and the median decides.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"

namespace {

using namespace std::chrono_literals;
using bench::now_ns;
using bench::sample;
using bench::Samples;

constexpr double us(double ns) {
    return ns / 1000;
}

// --- one process, nobody else -------------------------------------------------------------------

struct Medians {
    double ours = 0;
    double bare = 0;
};

void uncontended(bench::Report& report, const std::string& folder, const std::string& url) {
    auto& medians = bench::shared_between_processes<Medians>();
    bench::in_processes(1, [&](int) {
        const int file = open((folder + "/flock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        auto client = holdfast::connect(url);
        auto mutex = client.mutex("uncontended");
        Samples ours;
        Samples bare;
        for (int round = 0; round < 100; ++round) {
            sample(bare, 500, [&] {
                flock(file, LOCK_EX);
                flock(file, LOCK_UN);
            });
            sample(ours, 500, [&] {
                mutex.lock();
                mutex.unlock();
            });
        }
        medians = {.ours = bench::median(ours), .bare = bench::median(bare)};
    });
    report.figure("flock(2) lock+unlock, p50", us(medians.bare), "us");
    report.figure("Mutex lock+unlock, p50", us(medians.ours), "us");
    report.at_most("  ratio", medians.ours / medians.bare, 4, "");
}

// --- two processes hand over --------------------------------------------------------------------

constexpr int hand_over_rounds = 30;
constexpr int hand_overs_a_round = 100;
/// Long enough for the other side to be asleep.
constexpr std::int64_t pause_ns = 150'000;

enum class Side : int { outside, in_line, finished };

struct HandOver {
    bench::Barrier barrier{2};
    std::atomic<std::int64_t> released_at = 0;
    std::array<std::atomic<Side>, 2> side{};
    std::array<Medians, 2> medians{};
};

void hand_over_round(HandOver& shared, holdfast::Mutex& mutex, std::size_t me, Samples& samples) {
    const std::size_t other = 1 - me;
    for (int i = 0; i < hand_overs_a_round; ++i) {
        shared.side[me] = Side::in_line;
        mutex.lock();
        const std::int64_t entered = now_ns();
        if (const std::int64_t released = shared.released_at.exchange(0); released != 0) {
            samples.push_back(entered - released);
        }
        shared.side[me] = Side::outside;
        while (shared.side[other] == Side::outside) std::this_thread::yield();
        bench::spin_for_ns(pause_ns);
        if (shared.side[other] == Side::in_line) shared.released_at = now_ns();
        mutex.unlock();
    }
    shared.side[me] = Side::finished;
    shared.barrier.wait();
    shared.side[me] = Side::outside;
    shared.released_at = 0;
    shared.barrier.wait();
}

void datagram_round(int socket, std::size_t me, Samples& samples) {
    for (int i = 0; i < hand_overs_a_round; ++i) {
        if (me == 0 || i > 0) {
            bench::spin_for_ns(pause_ns);
            const std::int64_t sent = now_ns();
            if (send(socket, &sent, sizeof sent, 0) < 0) throw std::runtime_error("send failed");
        }
        std::int64_t sent = 0;
        if (recv(socket, &sent, sizeof sent, 0) < 0) throw std::runtime_error("recv failed");
        samples.push_back(now_ns() - sent);
    }
    // The last answer of the second side.
    if (me == 1) {
        const std::int64_t sent = now_ns();
        if (send(socket, &sent, sizeof sent, 0) < 0) throw std::runtime_error("send failed");
    }
}

void hand_over(bench::Report& report, const std::string& url) {
    auto& shared = bench::shared_between_processes<HandOver>();
    std::array<int, 2> sockets{};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets.data()) != 0) {
        throw std::runtime_error("socketpair failed");
    }
    bench::in_processes(2, [&](int number) {
        const auto me = static_cast<std::size_t>(number);
        auto client = holdfast::connect(url);
        auto mutex = client.mutex("hand_over", {.fairness = holdfast::Fairness::fifo});
        Samples ours;
        Samples bare;
        for (int round = 0; round < hand_over_rounds; ++round) {
            shared.barrier.wait();
            hand_over_round(shared, mutex, me, ours);
            datagram_round(sockets.at(me), me, bare);
        }
        shared.medians.at(me) = {.ours = bench::median(ours), .bare = bench::median(bare)};
    });
    const double ours = (shared.medians[0].ours + shared.medians[1].ours) / 2;
    const double bare = (shared.medians[0].bare + shared.medians[1].bare) / 2;
    report.figure("one-way unix datagram wake, p50", us(bare), "us");
    report.figure("Mutex hand-over between two processes, p50", us(ours), "us");
    report.at_most("  ratio", ours / bare, 3, "");
}

// --- eight processes in line --------------------------------------------------------------------

constexpr int contenders = 8;

struct Shares {
    bench::Barrier barrier{contenders};
    std::atomic<int> in_line = 0;
    std::array<std::int64_t, contenders> holds{};
};

void contend(Shares& shares, const std::string& url, int number, std::chrono::seconds duration) {
    auto client = holdfast::connect(url);
    auto mutex = client.mutex("shares", {.fairness = holdfast::Fairness::fifo});
    std::int64_t& mine = shares.holds.at(static_cast<std::size_t>(number));
    shares.barrier.wait();
    const auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) {
        ++shares.in_line;
        mutex.lock();
        if (shares.in_line == contenders) ++mine;
        --shares.in_line;
        mutex.unlock();
    }
}

void equal_shares(bench::Report& report, const std::string& url, std::chrono::seconds duration) {
    auto& shares = bench::shared_between_processes<Shares>();
    bench::in_processes(contenders, [&](int number) { contend(shares, url, number, duration); });
    const auto [least, most] = std::ranges::minmax(shares.holds);
    std::int64_t total = 0;
    for (const std::int64_t holds : shares.holds) total += holds;
    const double equal = static_cast<double>(total) / contenders;
    if (total == 0) throw std::runtime_error("the eight were never all in line");
    const double furthest =
        std::max(static_cast<double>(most) - equal, equal - static_cast<double>(least));
    report.figure("8 processes on one lock, holds counted a second",
                  static_cast<double>(total) / static_cast<double>(duration.count()), "");
    report.at_most("  furthest from an equal share", 100 * furthest / equal, 10, "%");
}

// --- a hundred thousand waiters in one process --------------------------------------------------

/// A line of /proc/self/status, in its own unit.
std::int64_t status_of_process(std::string_view field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1));
    }
    throw std::runtime_error("/proc/self/status lacks " + std::string(field));
}

class CountingWaiters final : public holdfast::Observer {
public:
    void waiting(std::string_view /*resource*/) override { ++waiting_; }
    void await(int count) const {
        while (waiting_ < count) std::this_thread::sleep_for(1ms);
    }

private:
    std::atomic<int> waiting_ = 0;
};

struct Crowd {
    double enter_ms = 0;
    double leave_ms = 0;
    double bytes_each = 0;
    double threads = 0;
};

Crowd gather_and_leave(const std::string& url, int count) {
    auto observer = std::make_shared<CountingWaiters>();
    auto client = holdfast::connect(url, {.observer = observer});
    auto mutex = client.mutex("crowd/" + std::to_string(count), {.lease = 60s});
    const holdfast::Hold hold = mutex.acquire();
    std::stop_source stop;
    std::atomic<int> left = 0;
    Crowd crowd;

    const std::int64_t memory = status_of_process("RssAnon:");
    const std::int64_t start = now_ns();
    for (int i = 0; i < count; ++i) {
        mutex.async_acquire([&](const std::exception_ptr&, const holdfast::Attempt&) { ++left; },
                            stop.get_token());
    }
    observer->await(count);
    crowd.enter_ms = static_cast<double>(now_ns() - start) / 1e6;
    crowd.bytes_each = static_cast<double>(status_of_process("RssAnon:") - memory) * 1024 / count;
    crowd.threads = static_cast<double>(status_of_process("Threads:"));

    const std::int64_t leaving = now_ns();
    stop.request_stop();
    while (left < count) std::this_thread::sleep_for(1ms);
    crowd.leave_ms = static_cast<double>(now_ns() - leaving) / 1e6;
    return crowd;
}

void many_waiters(bench::Report& report, const std::string& url) {
    auto& crowds = bench::shared_between_processes<std::array<Crowd, 2>>();
    // A process each, so that the second does not live in the first one's freed memory.
    bench::in_processes(1, [&](int) { crowds[0] = gather_and_leave(url, 10'000); });
    bench::in_processes(1, [&](int) { crowds[1] = gather_and_leave(url, 100'000); });
    const Crowd& small = crowds[0];
    const Crowd& large = crowds[1];
    report.at_most("100 000 waiters: threads of the process", large.threads, 8, "");
    report.at_most("100 000 waiters: private memory each", large.bytes_each, 3072, "B");
    report.figure("10 000 enter", small.enter_ms, "ms");
    report.figure("100 000 enter", large.enter_ms, "ms");
    report.at_most("  ratio", large.enter_ms / small.enter_ms, 20, "");
    report.figure("10 000 leave", small.leave_ms, "ms");
    report.figure("100 000 leave", large.leave_ms, "ms");
    // Ten times as many: a quadratic cost would be a hundred times as high.
    report.at_most("  ratio", large.leave_ms / small.leave_ms, 40, "");
}

void measure_all(bench::Report& report) {
    const bench::TemporaryFolder folder;
    const std::string url = "local://" + folder.path();
    uncontended(report, folder.path(), url);
    hand_over(report, url);
    equal_shares(report, url, 10s);
    many_waiters(report, url);
}

}  // namespace

/// --check: fails when a bar is missed.
int main(int count, char** words) {
    try {
        const bool check = count > 1 && std::string_view(words[1]) == "--check";
        bench::Report report;
        measure_all(report);
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
