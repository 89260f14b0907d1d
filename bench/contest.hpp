#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/holdfast.hpp>

#include "measure.hpp"
#include "support/child.hpp"

/// Ours and another library's lock on one server, in turns.
namespace bench {

struct Comparison {
    double theirs = 0;
    double ours = 0;
};

inline void pair(holdfast::Mutex& mutex) {
    holdfast::Hold hold = mutex.acquire();
    hold.release();
}

/// A process with another library's lock, which measures it on request: see CuratorLock.java.
class Peer {
public:
    explicit Peer(std::vector<std::string> command)
        : name_(command.front()), process_(std::move(command)) {}

    Samples pairs(int count) { return numbers_for("pairs " + std::to_string(count)); }
    std::int64_t holds_a_second(int contenders, std::chrono::milliseconds duration) {
        return numbers_for("contend " + std::to_string(contenders) + " " +
                           std::to_string(duration.count()))
            .at(0);
    }

private:
    Samples numbers_for(const std::string& request) {
        process_.say(request);
        const auto line = process_.hear();
        if (!line) throw std::runtime_error(name_ + " gives no answer");
        std::istringstream text(*line);
        return {std::istream_iterator<std::int64_t>(text), std::istream_iterator<std::int64_t>()};
    }

    const std::string name_;
    holdfast::test::Child process_;
};

/// Threads with a client each, as a peer's.
class Contenders {
public:
    Contenders(const std::string& url, int count) {
        for (int number = 0; number < count; ++number) clients_.push_back(holdfast::connect(url));
    }

    std::int64_t holds_a_second(std::chrono::nanoseconds duration) {
        std::atomic<std::int64_t> holds = 0;
        const std::int64_t start = now_ns();
        const std::int64_t end = start + duration.count();
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

}  // namespace bench
