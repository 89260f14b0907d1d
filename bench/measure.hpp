#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// CLOCK_MONOTONIC, which all processes of the machine share.
inline std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

/// Keeps the core busy, so that neither side of a comparison pays for waking it from idle.
inline void spin_for_ns(std::int64_t duration) {
    for (const std::int64_t end = now_ns() + duration; now_ns() < end;) {
    }
}

/// Durations in nanoseconds.
using Samples = std::vector<std::int64_t>;

template <class Work>
void sample(Samples& samples, int times, const Work& work) {
    for (int i = 0; i < times; ++i) {
        const std::int64_t start = now_ns();
        work();
        samples.push_back(now_ns() - start);
    }
}

/// The one that this part of them, from 0 to 1, is below.
inline double quantile(Samples samples, double part) {
    if (samples.empty()) throw std::runtime_error("nothing was measured");
    const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(samples.size()));
    std::ranges::nth_element(samples, samples.begin() + place);
    return static_cast<double>(samples[static_cast<std::size_t>(place)]);
}

inline double median(Samples samples) {
    return quantile(std::move(samples), 0.5);
}

/// A T that forked processes share. Never destroyed: it goes with the program.
template <class T>
T& shared_between_processes() {
    void* const page =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    return *new (page) T;
}

/// Where processes wait for each other.
class Barrier {
public:
    explicit Barrier(unsigned count) {
        pthread_barrierattr_t attributes;
        pthread_barrierattr_init(&attributes);
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&barrier_, &attributes, count);
    }
    void wait() { pthread_barrier_wait(&barrier_); }

private:
    pthread_barrier_t barrier_{};
};

/// Ends with this process, so that none is left behind when the program is interrupted.
inline pid_t forked(const std::function<void()>& work) {
    const pid_t process = fork();
    if (process != 0) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        work();
        std::fflush(nullptr);
        _exit(0);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        _exit(1);
    }
}

/// Runs `work(0)` to `work(count - 1)` in a process each, and waits for them. The caller has no
/// threads and no client, so that each process is as a program of its own. When one fails, or
/// another child of this process (a server) ends meanwhile, all are ended: they may wait for it.
inline void in_processes(int count, const std::function<void(int)>& work) {
    std::fflush(nullptr);
    std::vector<pid_t> processes;
    for (int number = 0; number < count; ++number) {
        processes.push_back(forked([&] { work(number); }));
    }
    bool failed = false;
    while (!processes.empty()) {
        siginfo_t ended{};
        waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
        failed |= ended.si_status != 0 || std::ranges::count(processes, ended.si_pid) == 0;
        if (failed) break;
        waitpid(ended.si_pid, nullptr, 0);
        std::erase(processes, ended.si_pid);
    }
    for (const pid_t process : processes) kill(process, SIGKILL);
    for (const pid_t process : processes) waitpid(process, nullptr, 0);
    if (failed) throw std::runtime_error("a measuring process failed");
}

/// A folder that is gone afterwards.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = std::filesystem::temp_directory_path() / "holdfast_bench_XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Prints each figure beside its bar.
class Report {
public:
    Report() { std::printf("%-58s %12s %10s\n", "", "figure", "bar"); }

    void figure(const std::string& what, double figure, const char* unit) {
        std::printf("%-58s %9.2f %-3s\n", what.c_str(), figure, unit);
    }
    void at_most(const std::string& what, double figure, double bar, const char* unit) {
        compare(what, figure, "<=", bar, unit, figure <= bar);
    }
    void at_least(const std::string& what, double figure, double bar, const char* unit) {
        compare(what, figure, ">=", bar, unit, figure >= bar);
    }
    bool missed() const { return missed_; }

private:
    void compare(const std::string& what, double figure, const char* relation, double bar,
                 const char* unit, bool met) {
        missed_ |= !met;
        std::printf("%-58s %9.2f %-3s %s %-6g %s\n", what.c_str(), figure, unit, relation, bar,
                    met ? "ok" : "MISSED");
    }

    bool missed_ = false;
};

}  // namespace bench
