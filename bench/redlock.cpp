// The Redlock store against two flights of the same scripts on bare sockets, on five servers of its
// own. Both are measured in turns in one run, for on a shared machine only their ratio means
// something.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"
#include "servers/redis_nodes.hpp"
#include "stores/redlock/redlock_scripts.hpp"
#include "support/child.hpp"
#include "support/resp.hpp"

namespace {

using namespace std::chrono_literals;
using bench::median;
using bench::sample;
using bench::Samples;
using holdfast::test::RedisNodes;
namespace scripts = holdfast::redlock::scripts;

constexpr double us(double ns) {
    return ns / 1000;
}

void pair(holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    hold.release();
}

// --- bare sockets -------------------------------------------------------------------------------

/// What a program does that speaks to five servers by itself: sends each the same script, and goes
/// on at the third answer.
class RawLock {
public:
    explicit RawLock(RedisNodes& nodes) {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            auto& node = nodes.node(i);
            load(node, "raw_enter", scripts::enter);
            load(node, "raw_leave", scripts::leave);
            std::istringstream mark(node.command({"GET", "holdfast/=run"}));
            Peer peer{.socket = holdfast::test::connect_to_port(node.port())};
            std::string since;
            mark >> peer.run >> since >> peer.max_lease >> peer.set;
            peers_.push_back(std::move(peer));
            const int one = 1;
            setsockopt(peers_.back().socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        }
    }

    void acquire() {
        std::array<char, 33> nonce{};
        std::snprintf(nonce.data(), nonce.size(), "%016x%016x", static_cast<unsigned>(getpid()),
                      ++nonces_);
        nonce_ = nonce.data();
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        const auto proposal = std::to_string(now.tv_sec * 1'000'000 + now.tv_nsec / 1000 + 1000);
        fly("raw_enter",
            {nonce_, "30000", "1000000000", "1000000000", proposal, who_, caller_, "30000"});
    }
    void release() { fly("raw_leave", {nonce_, "0", caller_, ""}); }

private:
    struct Peer {
        holdfast::test::Socket socket;
        std::string run = {};
        std::string max_lease = {};
        std::string set = {};
        std::size_t answers_due = 0;
        std::string received = {};
    };
    static constexpr std::size_t majority = 3;

    static void load(const holdfast::test::RedisServer& node, const std::string& name,
                     std::string_view script) {
        node.command({"FUNCTION", "LOAD", "REPLACE",
                      "#!lua name=" + name + "\nredis.register_function{function_name='" + name +
                          "', flags={'allow-oom'}, callback=function(KEYS, ARGV) " +
                          std::string(script.substr(script.find('\n'))) + "\nend}"});
    }

    void fly(const std::string& function, const std::vector<std::string>& arguments) {
        for (Peer& peer : peers_) {
            std::vector<std::string> words{"FCALL", function, "5"};
            words.insert(words.end(), keys_.begin(), keys_.end());
            words.insert(words.end(), {peer.run, peer.max_lease, peer.set});
            words.insert(words.end(), arguments.begin(), arguments.end());
            if (!holdfast::test::send_all(peer.socket, holdfast::test::to_resp(words))) {
                throw std::runtime_error("not sent");
            }
            ++peer.answers_due;
        }
        while (std::ranges::count(peers_, 0U, &Peer::answers_due) <
               static_cast<std::ptrdiff_t>(majority)) {
            read();
        }
    }
    void read() {
        std::vector<pollfd> polled;
        for (const Peer& peer : peers_) {
            polled.push_back({.fd = peer.answers_due == 0 ? -1 : peer.socket.get(),
                              .events = POLLIN,
                              .revents = 0});
        }
        poll(polled.data(), polled.size(), -1);
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            if (polled[i].revents == 0) continue;
            std::array<char, 4096> some{};
            const ssize_t count = recv(polled[i].fd, some.data(), some.size(), 0);
            if (count <= 0 || some[0] == '-') throw std::runtime_error("a raw call failed");
            peers_[i].received.append(some.data(), static_cast<std::size_t>(count));
            std::string_view rest = peers_[i].received;
            while (holdfast::test::read_resp(rest)) --peers_[i].answers_due;
            peers_[i].received = rest;
        }
    }

    const std::string who_ = "machine 12345 machine:12345:0123abcd";
    const std::string caller_ = std::string(32, 'c') + " " + std::string(32, 'd');
    const std::vector<std::string> keys_{
        "{holdfast/raw}holdfast/uncontended=", "{holdfast/raw}#fence",
        "{holdfast/raw}holdfast/uncontended=left", "{holdfast/raw}holdfast/uncontended=called",
        "holdfast/=run"};
    std::vector<Peer> peers_;
    unsigned nonces_ = 0;
    std::string nonce_;
};

void pair(RawLock& lock) {
    lock.acquire();
    lock.release();
}

// --- one process, nobody else -------------------------------------------------------------------

struct Uncontended {
    double raw = 0;
    double ours = 0;
    double one_paused = 0;
};

void uncontended(bench::Report& report, RedisNodes& nodes) {
    auto& result = bench::shared_between_processes<Uncontended>();
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(nodes.url());
        auto mutex = client.mutex("uncontended");
        RawLock raw_lock(nodes);
        Samples raw;
        Samples ours;
        for (int round = 0; round < 200; ++round) {
            sample(raw, 10, [&] { pair(raw_lock); });
            sample(ours, 10, [&] { pair(mutex); });
        }
        result.raw = median(raw);
        result.ours = median(ours);
    });
    nodes.node(2).pause();
    bench::in_processes(1, [&](int) {
        auto client = holdfast::connect(nodes.url());
        auto mutex = client.mutex("uncontended");
        Samples ours;
        sample(ours, 2000, [&] { pair(mutex); });
        result.one_paused = median(ours);
    });
    nodes.node(2).resume();
    report.figure("two flights on bare sockets, p50", us(result.raw), "us");
    report.figure("Mutex acquire and release, p50", us(result.ours), "us");
    report.at_most("  ratio", result.ours / result.raw, 1.3, "");
    report.figure("the same with one node paused, p50", us(result.one_paused), "us");
    report.at_most("  ratio", result.one_paused / result.ours, 1.2, "");
}

// --- handing over -------------------------------------------------------------------------------

struct HandOff {
    bench::Barrier barrier{2};
    double median = 0;
};

double median_of_hand_offs(RedisNodes& nodes) {
    constexpr int rounds = 100;
    auto& shared = bench::shared_between_processes<HandOff>();
    auto& released_at = bench::shared_between_processes<std::int64_t>();
    bench::in_processes(2, [&](int number) {
        auto client = holdfast::connect(nodes.url());
        auto mutex = client.mutex("hand_off");
        Samples samples;
        for (int i = 0; i < rounds; ++i) {
            if (number == 0) {
                holdfast::Hold hold = mutex.acquire();
                shared.barrier.wait();
                std::this_thread::sleep_for(30ms);
                released_at = bench::now_ns();
                hold.release();
            } else {
                shared.barrier.wait();
                holdfast::Hold hold = mutex.acquire();
                samples.push_back(bench::now_ns() - released_at);
                hold.release();
            }
            shared.barrier.wait();
        }
        if (number == 1) shared.median = median(samples);
    });
    return shared.median;
}

void hand_off(bench::Report& report, RedisNodes& nodes) {
    report.figure("release to admission in another process, p50", us(median_of_hand_offs(nodes)),
                  "us");
}

// --- beside npm's redlock -----------------------------------------------------------------------

/// A process with it: see node_redlock.js.
class NodeRedlock {
public:
    NodeRedlock(RedisNodes& nodes, const std::string& name) : process_(words(nodes, name)) {}

    void say(const std::string& request) { process_.say(request); }
    std::string hear() {
        const auto line = process_.hear();
        if (!line) {
            throw std::runtime_error(
                "node_redlock.js gives no answer; its packages come with ctest -R node_clients");
        }
        return *line;
    }
    std::int64_t hear_time() { return std::stoll(hear()); }

private:
    static std::vector<std::string> words(RedisNodes& nodes, const std::string& name) {
        std::vector<std::string> all{"env", "NODE_PATH=" HOLDFAST_BENCH_NODE_PATH, "node",
                                     HOLDFAST_BENCH_FOLDER "/node_redlock.js", name};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all.push_back(std::to_string(nodes.node(i).port()));
        }
        return all;
    }

    holdfast::test::Child process_;
};

struct Rates {
    double theirs = 0;
    double ours = 0;
};

Rates medians_of_pairs(RedisNodes& nodes) {
    NodeRedlock node(nodes, "theirs");
    auto client = holdfast::connect(nodes.url());
    auto mutex = client.mutex("ours");
    Samples theirs;
    Samples ours;
    constexpr int count = 50;
    for (int round = 0; round < 20; ++round) {
        node.say("pairs " + std::to_string(count));
        std::istringstream times(node.hear());
        for (std::int64_t time = 0; times >> time;) theirs.push_back(time);
        sample(ours, count, [&] { pair(mutex); });
    }
    return {median(theirs), median(ours)};
}

double median_of_their_hand_offs(RedisNodes& nodes) {
    NodeRedlock holder(nodes, "hand_off");
    NodeRedlock waiter(nodes, "hand_off");
    Samples samples;
    for (int i = 0; i < 20; ++i) {
        holder.say("hold");
        static_cast<void>(holder.hear());
        waiter.say("wait");
        static_cast<void>(waiter.hear());
        // At any moment between two looks.
        std::this_thread::sleep_for(300ms + std::chrono::milliseconds{10 * i});
        holder.say("release");
        const std::int64_t released = holder.hear_time();
        samples.push_back(waiter.hear_time() - released);
    }
    return median(samples);
}

void node_redlock(bench::Report& report, RedisNodes& nodes) {
    auto& pairs = bench::shared_between_processes<Rates>();
    auto& hand_offs = bench::shared_between_processes<Rates>();
    bench::in_processes(1, [&](int) {
        pairs = medians_of_pairs(nodes);
        hand_offs.theirs = median_of_their_hand_offs(nodes);
    });
    hand_offs.ours = median_of_hand_offs(nodes);
    report.figure("npm redlock acquire and release, p50", us(pairs.theirs), "us");
    report.figure("Mutex acquire and release, p50", us(pairs.ours), "us");
    report.at_least("  times as fast", pairs.theirs / pairs.ours, 2, "");
    report.figure("npm redlock release to admission, p50", us(hand_offs.theirs), "us");
    report.figure("ours, p50", us(hand_offs.ours), "us");
    report.at_least("  times shorter", hand_offs.theirs / hand_offs.ours, 10, "");
}

// --- all of it ----------------------------------------------------------------------------------

struct Part {
    std::string_view name;
    void (*measure)(bench::Report&, RedisNodes&);
};
constexpr std::array parts{Part{"uncontended", uncontended}, Part{"hand_off", hand_off},
                           Part{"node_redlock", node_redlock}};

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
        RedisNodes nodes;
        bench::Report report;
        for (const Part& part : chosen) part.measure(report, nodes);
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
