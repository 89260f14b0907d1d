// The memcached store against two meta commands on a bare socket, on a server of its own. Both are
// measured in turns in one run, for on a shared machine only their ratio means something.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"
#include "servers/memcached_server.hpp"

namespace {

using namespace std::chrono_literals;
using bench::median;
using bench::sample;
using bench::Samples;
using holdfast::test::MemcachedServer;

constexpr double us(double ns) {
    return ns / 1000;
}

void pair(holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    hold.release();
}

// --- a bare socket ------------------------------------------------------------------------------

/// What a program does that speaks to memcached by itself: `add` with a value, `delete` by version,
/// with as many bytes as ours.
class RawLock {
public:
    RawLock(const MemcachedServer& server, const std::string& name, const std::string& owner)
        : socket_(holdfast::test::connect_to_port(server.port())), key_("holdfast/" + name) {
        const int one = 1;
        setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        value_ = "holdfast " + std::string(32, 'f') + " " + std::to_string(getpid()) + " " +
                 host.data() + " " + owner;
        add_ = "ms " + key_ + " " + std::to_string(value_.size()) + " c T31 ME O1000\r\n" + value_ +
               "\r\n";
    }

    void acquire() {
        const std::string_view answer = ask(add_);
        if (!answer.starts_with("HD c")) throw std::runtime_error("the raw lock was not free");
        const auto end = answer.find_first_of(" \r", 4);
        remove_ = "md " + key_ + " C" + std::string(answer.substr(4, end - 4)) + " O1001\r\n";
    }
    void release() {
        if (!ask(remove_).starts_with("HD")) throw std::runtime_error("the raw lock was lost");
    }

private:
    std::string_view ask(const std::string& command) {
        if (!holdfast::test::send_all(socket_, command)) throw std::runtime_error("not sent");
        const ssize_t count = recv(socket_.get(), answer_.data(), answer_.size(), 0);
        if (count <= 0) throw std::runtime_error("memcached does not answer");
        return {answer_.data(), static_cast<std::size_t>(count)};
    }

    const holdfast::test::Socket socket_;
    const std::string key_;
    std::string value_;
    std::string add_;
    std::string remove_;
    std::array<char, 4096> answer_{};
};

void pair(RawLock& lock) {
    lock.acquire();
    lock.release();
}

// --- one process, nobody else -------------------------------------------------------------------

std::uint64_t commands(const MemcachedServer& server) {
    std::uint64_t count = 0;
    for (const char* what : {"cmd_get", "cmd_set", "delete_hits", "delete_misses"}) {
        count += server.stat(what);
    }
    return count;
}

struct Uncontended {
    double raw = 0;
    double ours = 0;
    double commands = 0;
};

double commands_a_pair(const MemcachedServer& server, holdfast::Mutex& mutex) {
    constexpr int pairs = 500;
    const std::uint64_t before = commands(server);
    for (int i = 0; i < pairs; ++i) pair(mutex);
    return static_cast<double>(commands(server) - before) / pairs;
}

void uncontended(bench::Report& report, const MemcachedServer& server) {
    auto& result = bench::shared_between_processes<Uncontended>();
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(server.url());
        auto mutex = client.mutex("uncontended");
        RawLock raw_lock(server, "uncontended", client.owner());
        Samples raw;
        Samples ours;
        for (int round = 0; round < 300; ++round) {
            sample(raw, 20, [&] { pair(raw_lock); });
            sample(ours, 20, [&] { pair(mutex); });
        }
        result = {median(raw), median(ours), commands_a_pair(server, mutex)};
    });
    report.at_most("commands for acquire and release", result.commands, 2, "");
    report.figure("two meta commands on a bare socket, p50", us(result.raw), "us");
    report.figure("Mutex acquire and release, p50", us(result.ours), "us");
    report.at_most("  ratio", result.ours / result.raw, 1.15, "");
}

// --- waiting ------------------------------------------------------------------------------------

struct Waiting {
    double requests_at_first = 0;
    double requests = 0;
};

/// While somebody else holds, and says nothing.
void waiting(bench::Report& report, const MemcachedServer& server) {
    auto& result = bench::shared_between_processes<Waiting>();
    bench::in_processes(1, [&](int) {
        const auto holder = holdfast::connect(server.url());
        const holdfast::Hold hold = holder.mutex("held").acquire();
        const auto waiter = holdfast::connect(server.url());
        auto mutex = waiter.mutex("held");
        const std::uint64_t before = commands(server);
        static_cast<void>(mutex.try_acquire_for(1s));
        result.requests_at_first = static_cast<double>(commands(server) - before);
        const std::uint64_t again = commands(server);
        constexpr int seconds = 8;
        static_cast<void>(mutex.try_acquire_for(std::chrono::seconds{seconds}));
        result.requests = static_cast<double>(commands(server) - again) / seconds;
    });
    report.at_most("commands of a waiter in its first second", result.requests_at_first, 10, "");
    report.at_most("commands of a waiter in a second of eight", result.requests, 10, "");
}

// --- handing over -------------------------------------------------------------------------------

struct HandOff {
    bench::Barrier barrier{2};
    double between_processes = 0;
    double within_one = 0;
};

/// Who waits elsewhere looks; who waits here is told.
void hand_off(bench::Report& report, const MemcachedServer& server) {
    constexpr int rounds = 20;
    auto& shared = bench::shared_between_processes<HandOff>();
    auto& released_at = bench::shared_between_processes<std::int64_t>();
    bench::in_processes(2, [&](int number) {
        auto client = holdfast::connect(server.url());
        auto mutex = client.mutex("hand_off");
        Samples elsewhere;
        for (int i = 0; i < rounds; ++i) {
            if (number == 0) {
                holdfast::Hold hold = mutex.acquire();
                shared.barrier.wait();
                // At any moment between two looks.
                std::this_thread::sleep_for(600ms + std::chrono::milliseconds{i * 250 / rounds});
                released_at = bench::now_ns();
                hold.release();
            } else {
                shared.barrier.wait();
                holdfast::Hold hold = mutex.acquire();
                elsewhere.push_back(bench::now_ns() - released_at);
                hold.release();
            }
            shared.barrier.wait();
        }
        if (number == 1) shared.between_processes = median(elsewhere);
    });
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(server.url());
        auto mutex = client.mutex("within");
        Samples here;
        for (int i = 0; i < rounds; ++i) {
            holdfast::Hold hold = mutex.acquire();
            std::int64_t admitted_at = 0;
            std::jthread waiter([&] {
                const holdfast::Hold next = mutex.acquire();
                admitted_at = bench::now_ns();
            });
            std::this_thread::sleep_for(50ms);
            const std::int64_t released = bench::now_ns();
            hold.release();
            waiter.join();
            here.push_back(admitted_at - released);
        }
        shared.within_one = median(here);
    });
    report.figure("release to admission in another process, p50",
                  us(shared.between_processes) / 1000, "ms");
    report.figure("release to admission in the same process, p50", us(shared.within_one), "us");
}

// --- all of it ----------------------------------------------------------------------------------

struct Part {
    std::string_view name;
    void (*measure)(bench::Report&, const MemcachedServer&);
};
constexpr std::array parts{Part{"uncontended", uncontended}, Part{"waiting", waiting},
                           Part{"hand_off", hand_off}};

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
        const MemcachedServer server;
        bench::Report report;
        for (const Part& part : chosen) part.measure(report, server);
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
