#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <holdfast/holdfast.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/alarm_thread.hpp"
#include "port/clock.hpp"
#include "support/arena.hpp"
#include "support/await.hpp"
#include "support/contender.hpp"
#include "support/rounds.hpp"

/// The child process of the tests: an ordinary user of the library that can be killed and stopped.
/// Included by the one file with main() of each program that starts such processes.
namespace holdfast::test {

namespace contending {

using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

inline void answer(const std::string& line) {
    std::cout << line << std::endl;
}

inline const char* name_of(Released how) {
    switch (how) {
        case Released::in_time:
            return "in_time";
        case Released::too_late:
            return "too_late";
        case Released::unknown:
            return "unknown";
    }
    return "?";
}

inline const char* name_of(Loss why) {
    switch (why) {
        case Loss::none:
            return "none";
        case Loss::overdue:
            return "overdue";
        case Loss::ended:
            return "ended";
        case Loss::inherited:
            return "inherited";
    }
    return "?";
}

inline std::string standing_of(const Hold& hold) {
    return std::string(hold.held() ? "held" : "not_held") + " " + name_of(hold.loss());
}

/// A contender that is told what to do.
class Talker {
public:
    explicit Talker(const std::string& url) : client_(connect(url)) {}

    void run() {
        answer("ready");
        for (std::string line; std::getline(std::cin, line);) {
            std::istringstream words(line);
            std::string verb;
            words >> verb;
            try {
                act(verb, words);
            } catch (const Error& error) {
                answer("error " + std::to_string(error.code().value()) + " " + error.what());
            }
        }
    }

private:
    Mutex& mutex(std::istringstream& words) {
        std::string name;
        int lease = 60'000;
        std::string fairness;
        words >> name >> lease >> fairness;
        LockOptions options{.lease = std::chrono::milliseconds{lease}};
        if (fairness == "barging") options.fairness = Fairness::barging;
        locks_.emplace_back(new Mutex(client_.mutex(name, options)));
        return *locks_.back();
    }

    void act(const std::string& verb, std::istringstream& words) {
        if (verb == "acquire") {
            hold_.emplace(mutex(words).acquire());
            answer("held " + std::to_string(hold_->fence()));
        } else if (verb == "try") {
            auto attempt = mutex(words).try_acquire();
            if (attempt) hold_.emplace(*std::move(attempt));
            answer(hold_ ? "held " + std::to_string(hold_->fence()) : "busy");
        } else if (verb == "stand_in_line") {
            mutex(words).async_acquire([](const std::exception_ptr&, const Attempt&) {});
            answer("asked");
        } else if (verb == "exit") {
            std::exit(0);
        } else if (verb == "release") {
            answer(name_of(hold_->release()));
        } else if (verb == "look") {
            answer(standing_of(*hold_));
        } else if (verb == "await_loss") {
            while (!hold_->lost().stop_requested()) std::this_thread::sleep_for(1ms);
            answer("lost " + std::string(name_of(hold_->loss())));
        } else if (verb == "fork") {
            answer(in_forked_child());
        } else if (verb == "fork_and_linger") {
            linger();
        } else {
            answer("what?");
        }
    }

    /// What a forked child finds: everything inert. Its destructors run too.
    std::string in_forked_child() {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            int wrong = 0;
            if (hold_->held() || hold_->remaining() > 0ns) wrong |= 1;
            if (hold_->loss() != Loss::inherited) wrong |= 2;
            if (hold_->release() != Released::unknown) wrong |= 4;
            if (!is_inherited([&] { locks_.front()->lock(); })) wrong |= 8;
            if (!is_inherited([&] { static_cast<void>(locks_.front()->try_acquire()); }))
                wrong |= 16;
            if (!is_inherited([&] { static_cast<void>(client_.mutex("new")); })) wrong |= 32;
            if (!is_inherited([&] { static_cast<void>(client_.inspect()); })) wrong |= 64;
            if (!is_inherited([&] { static_cast<void>(client_.break_hold("a", 1)); })) wrong |= 128;
            locks_.front()->unlock();
            hold_.reset();
            locks_.clear();
            { const Client last = std::move(client_); }
            _exit(wrong);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
        return "child " + std::to_string(WEXITSTATUS(status)) + " " + standing_of(*hold_);
    }

    template <class Function>
    static bool is_inherited(Function function) {
        try {
            function();
        } catch (const Error& error) {
            return error.code() == errc::inherited;
        }
        return false;
    }

    /// A child that outlives this process and never execs: a copy of everything lives on in it.
    static void linger() {
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            alarm(60);
            for (;;) pause();
        }
        answer("child " + std::to_string(child));
    }

    Client client_;
    std::vector<std::unique_ptr<Mutex>> locks_;
    std::optional<Hold> hold_;
};

inline void await_go(Arena& arena) {
    ++arena.ready;
    while (!arena.go) std::this_thread::sleep_for(1ms);
}

/// Notes a new holder's fence, and that nobody came in before it left.
class FencedVisit {
public:
    FencedVisit(Arena& arena, std::uint64_t fence) : arena_(arena), fence_(fence) {
        if (arena_.fence.exchange(fence) >= fence) ++arena_.old_fences;
    }
    void end() {
        if (arena_.fence != fence_) ++arena_.meetings;
    }

private:
    Arena& arena_;
    std::uint64_t fence_;
};

inline void note(Arena::Corner& corner, const Error& error) {
    std::strncpy(corner.last_error.data(), error.what(), corner.last_error.size() - 1);
    ++corner.errors;
}

/// Everybody wants the same resource, for a moment each.
inline void churn(const Client& client, Arena& arena, Arena::Corner& corner) {
    auto mutex = client.mutex("churn", {.lease = 60s});
    while (!arena.stop) {
        try {
            const Hold hold = mutex.acquire();
            FencedVisit visit(arena, hold.fence());
            visit.end();
            ++corner.done;
        } catch (const Error& error) {
            note(corner, error);
        }
    }
}

/// Each goes its own way through the store, and now and then all meet at one short lease. A holder
/// that was stopped may come back too late, so only those that still hold are counted.
inline void tour(const Client& client, Arena& arena, Arena::Corner& corner) {
    auto own = client.mutex("own/" + std::to_string(getpid()));
    auto common = client.mutex("common", {.lease = 1s, .fairness = Fairness::barging});
    for (int i = 0; !arena.stop; ++i) {
        try {
            const Hold hold = (i % 16 == 0 ? common : own).acquire();
            ++corner.done;
        } catch (const Error& error) {
            note(corner, error);
        }
    }
}

inline void contend_busily(const Arguments& arguments) {
    const std::string& what = arguments.at(0);
    const SharedArena arena(arguments.at(2));
    const int number = std::stoi(arguments.at(3));
    const Client client = connect(arguments.at(1));
    await_go(*arena);
    if (what == "count") count(client, *arena, number);
    if (what == "read_write") read_write(client, *arena, number);
    if (what == "permits") permits(client, *arena, number);
    if (what == "churn") churn(client, *arena, arena->corners.at(static_cast<std::size_t>(number)));
    if (what == "tour") tour(client, *arena, arena->corners.at(static_cast<std::size_t>(number)));
}

/// Says how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC by BootClock, in whole seconds, and
/// whether an alarm set by that clock rings when it is due.
inline void show_clocks() {
    timespec monotonic{};
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    const auto ahead = BootClock::now().time_since_epoch() -
                       std::chrono::seconds{monotonic.tv_sec} -
                       std::chrono::nanoseconds{monotonic.tv_nsec};
    answer(std::to_string(std::chrono::floor<std::chrono::seconds>(ahead).count()));
    std::atomic<bool> rang{false};
    core::AlarmThread alarm;
    const Moment due = BootClock::now() + 100ms;
    std::atomic<bool> early{false};
    alarm.at(due, [&] {
        early = BootClock::now() < due;
        rang = true;
    });
    answer(!await([&] { return rang.load(); }, 10s) ? "silent" : early ? "early" : "rang");
}

/// The arguments are what follows the flag:
///     talk URL                        does what it is told, a line at a time: see Talker
///     count|read_write|permits URL ARENA ROUNDS
///     churn|tour URL ARENA CORNER     busy until the arena stops it
///     clocks
inline int contend(const Arguments& arguments) {
    // Nobody outlives a test that crashed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        if (arguments.at(0) == "talk") {
            Talker(arguments.at(1)).run();
        } else if (arguments.at(0) == "clocks") {
            show_clocks();
        } else {
            contend_busily(arguments);
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "contender: " << error.what() << std::endl;
        return 1;
    }
}

}  // namespace contending

/// The tests, or one of the processes that they start: the same program, so that nothing else has
/// to be built, found or kept in step.
inline int run_tests_or_contend(int count, char** arguments) {
    if (count > 1 && std::strcmp(arguments[1], contender_flag) == 0) {
        return contending::contend({arguments + 2, arguments + count});
    }
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}

}  // namespace holdfast::test
