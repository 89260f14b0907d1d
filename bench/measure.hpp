#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

inline double median(std::vector<std::int64_t> samples) {
    if (samples.empty()) throw std::runtime_error("nothing was measured");
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, middle);
    return static_cast<double>(*middle);
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

/// Runs `work(0)` to `work(count - 1)` in a process each, and waits for them. The caller has no
/// threads and no client, so that each process is as a program of its own.
inline void in_processes(int count, const std::function<void(int)>& work) {
    std::fflush(nullptr);
    for (int number = 0; number < count; ++number) {
        if (fork() != 0) continue;
        try {
            work(number);
            std::fflush(nullptr);
            _exit(0);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "bench: %s\n", error.what());
            _exit(1);
        }
    }
    bool failed = false;
    for (int status = 0; wait(&status) > 0;) failed |= status != 0;
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
        const bool met = figure <= bar;
        missed_ |= !met;
        std::printf("%-58s %9.2f %-3s <= %-6g %s\n", what.c_str(), figure, unit, bar,
                    met ? "ok" : "MISSED");
    }
    bool missed() const { return missed_; }

private:
    bool missed_ = false;
};

}  // namespace bench
