// The program against flock(1): how long it takes to run `true`, and how soon the next one is in
// when a holder is killed. Both sides in turns in one run, for on a shared machine only their ratio
// means something.
#include <spawn.h>

#include <csignal>
#include <string_view>

#include "measure.hpp"

namespace {

using bench::Samples;
using Words = std::vector<std::string>;

constexpr int rounds = 500;
constexpr int kills = 50;

constexpr double ms(double ns) {
    return ns / 1e6;
}

pid_t start(const Words& words) {
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    pid_t process = 0;
    if (posix_spawnp(&process, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) {
        throw std::runtime_error("cannot start " + words.front());
    }
    return process;
}

int wait_for(pid_t process) {
    int status = 0;
    waitpid(process, &status, 0);
    return status;
}

void time_one(Samples& samples, const Words& words) {
    const std::int64_t begin = bench::now_ns();
    if (wait_for(start(words)) != 0) throw std::runtime_error(words.front() + " failed");
    samples.push_back(bench::now_ns() - begin);
}

void running_true(bench::Report& report, const Words& flock, const Words& holdfast) {
    Samples theirs;
    Samples ours;
    Samples bare;
    for (int round = 0; round < rounds; ++round) {
        time_one(bare, {"true"});
        time_one(theirs, flock);
        time_one(ours, holdfast);
    }
    report.figure("true, p50", ms(bench::median(bare)), "ms");
    report.figure("flock FILE true, p50", ms(bench::median(theirs)), "ms");
    report.figure("holdfast run NAME -- true, p50", ms(bench::median(ours)), "ms");
    report.at_most("  ratio", bench::median(ours) / bench::median(theirs), 2, "");
}

/// A file that appears when a command has begun.
void wait_for_file(const std::string& path) {
    while (!std::filesystem::exists(path)) bench::spin_for_ns(100'000);
}

/// The holder ignores TERM, and so does a grandchild in a session of its own.
std::int64_t kill_one(const Words& run, const std::string& folder) {
    const std::string held = folder + "/held";
    const std::string next = folder + "/next";
    const auto with = [&](const std::string& script) {
        Words words = run;
        words.insert(words.end(), {"--", "sh", "-c", script});
        return words;
    };
    const pid_t holder =
        start(with("trap '' TERM; setsid sleep 60 & touch " + held + "; sleep 60"));
    wait_for_file(held);
    const pid_t waiter = start(with("date +%s%N > " + next));
    // Nothing shows from outside that it stands in line.
    bench::spin_for_ns(50'000'000);
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    kill(holder, SIGKILL);
    wait_for(waiter);
    wait_for(holder);
    std::int64_t in = 0;
    if (std::FILE* const file = std::fopen(next.c_str(), "r")) {
        if (std::fscanf(file, "%ld", &in) != 1)
            throw std::runtime_error("the next one said nothing");
        std::fclose(file);
    }
    std::filesystem::remove(held);
    std::filesystem::remove(next);
    return in - (wall.tv_sec * 1'000'000'000LL + wall.tv_nsec);
}

void killed(bench::Report& report, const Words& run, const std::string& folder) {
    Samples samples;
    for (int i = 0; i < kills; ++i) samples.push_back(kill_one(run, folder));
    report.at_most("SIGKILL of a holder to the next command's date, p50",
                   ms(bench::median(samples)), 50, "ms");
    report.figure("  worst", ms(static_cast<double>(std::ranges::max(samples))), "ms");
}

void measure_all(bench::Report& report, const std::string& program) {
    const bench::TemporaryFolder folder;
    const Words run{program, "run", "-S", "local://" + folder.path(), "bench"};
    Words true_under_run = run;
    true_under_run.insert(true_under_run.end(), {"--", "true"});
    running_true(report, {"flock", folder.path() + "/flock", "true"}, true_under_run);
    // What sh says of its killed children is no figure.
    static_cast<void>(!std::freopen("/dev/null", "w", stderr));
    killed(report, run, folder.path());
}

}  // namespace

int main(int count, char** words) {
    try {
        const bool check = count > 1 && std::string_view(words[1]) == "--check";
        const auto here = std::filesystem::canonical("/proc/self/exe").parent_path();
        bench::Report report;
        measure_all(report, here.parent_path() / "holdfast");
        return check && report.missed() ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 2;
    }
}
