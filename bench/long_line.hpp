#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"

/// What a server does while a long line of waiters, in several processes, passes.
namespace bench {

constexpr int line_processes = 5;

/// Work: what a server has done, as numbers that can be subtracted and divided.
template <class Work>
struct LongLine {
    Barrier barrier{line_processes + 1};
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

inline void await(const std::atomic<int>& number, int expected) {
    while (number < expected) std::this_thread::sleep_for(std::chrono::microseconds{20});
}

template <class Work>
void stand_in_line(LongLine<Work>& line, const std::string& url, int count) {
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
template <class Server>
auto work_when_quiet(const Server& server) {
    auto seen = server.work();
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds{200});
        const auto now = server.work();
        if ((now - seen).sum() == 0) return now;
        seen = now;
    }
}

template <class Work, class Server>
void let_pass(LongLine<Work>& line, const Server& server, int count) {
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

/// For each hand-off.
template <class Server>
auto work_of_a_line(const Server& server, int count) {
    using Work = decltype(server.work());
    auto& line = shared_between_processes<LongLine<Work>>();
    in_processes(line_processes + 1, [&](int number) {
        if (number < line_processes) {
            stand_in_line(line, server.url(), count / line_processes);
        } else {
            let_pass(line, server, count);
        }
    });
    return line.work;
}

}  // namespace bench
