#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <holdfast/holdfast.hpp>

#include "port/wire.hpp"
#include "support/suite.hpp"
#include "support/temporary_folder.hpp"

/// What a client's threads do to the program that they are in.
namespace holdfast {
namespace {

/// How it ends in a process of its own: its exit code, or less than nothing by a signal.
int in_child(const std::function<int()>& main) {
    const pid_t child = fork();
    if (child == 0) std::exit(main());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// The signals that each thread of this process blocks, by its name.
std::map<std::string, std::uint64_t> blocked_signals() {
    std::map<std::string, std::uint64_t> blocked;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(task.path() / "status");
        std::string name;
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("Name:")) name = line.substr(6);
            if (line.starts_with("SigBlk:")) blocked[name] = std::stoull(line.substr(8), {}, 16);
        }
    }
    return blocked;
}

TEST(ThreadsOfAClient, HaveNamesAndTakeNoSignals) {
    const auto hold = connect("memory:").mutex("jobs").acquire();
    std::map<std::string, std::uint64_t> ours;
    const auto all_there = [&] {
        ours = blocked_signals();
        return ours.contains("holdfast-renew") && ours.contains("holdfast-tell") &&
               ours.contains("holdfast-pump");
    };
    ASSERT_TRUE(await(all_there));
    for (const auto& [name, signals] : ours) {
        if (!name.starts_with("holdfast-")) continue;
        for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD}) {
            EXPECT_TRUE(signals & (std::uint64_t{1} << (signal - 1))) << name << ' ' << signal;
        }
    }
}

TEST(ThreadsOfAClient, LeaveASignalToWhoeverBlocksItAfterTheFirstLock) {
    EXPECT_EQ(in_child([] {
                  const auto hold = connect("memory:").mutex("jobs").acquire();
                  sigset_t wanted;
                  sigemptyset(&wanted);
                  sigaddset(&wanted, SIGTERM);
                  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
                  kill(getpid(), SIGTERM);
                  int taken = 0;
                  sigwait(&wanted, &taken);
                  return taken == SIGTERM ? 0 : 1;
              }),
              0);
}

TEST(ThreadsOfAClient, ThatCannotBeMadeAreAnErrorOfTheAcquisition) {
    EXPECT_EQ(in_child([] {
                  auto mutex = connect("memory:").mutex("jobs", {.lease = 300ms});
                  // Root is not limited.
                  if (geteuid() == 0 && setuid(65534) != 0) return 2;
                  rlimit usual{};
                  if (getrlimit(RLIMIT_NPROC, &usual) != 0) return 3;
                  const rlimit none{0, usual.rlim_max};
                  if (setrlimit(RLIMIT_NPROC, &none) != 0) return 3;
                  int outcome = 4;
                  try {
                      const auto hold = mutex.acquire();
                  } catch (const Error& error) {
                      outcome = error.code() == errc::unreachable ? 0 : 5;
                  }
                  // A sanitizer looks for leaks by a thread of its own.
                  return setrlimit(RLIMIT_NPROC, &usual) == 0 ? outcome : 3;
              }),
              0);
}

bool none_is_left() {
    const auto threads = blocked_signals();
    return std::ranges::none_of(threads,
                                [](const auto& one) { return one.first.starts_with("holdfast-"); });
}

bool looks_at_the_end = false;

/// When libraries are unloaded: behind all that is asked for by std::atexit().
[[gnu::destructor]] void look_at_the_end() {
    if (looks_at_the_end) _exit(await(none_is_left, 2s) ? 0 : 1);
}

TEST(ThreadsOfAClient, EndWithTheProgramAlsoWhenTheClientIsNeverDestroyed) {
    EXPECT_EQ(in_child([] {
                  looks_at_the_end = true;
                  auto* const mutex = new Mutex(connect("memory:").mutex("jobs"));
                  new Hold(mutex->acquire());
                  return 2;
              }),
              0);
}

/// As what a library asks for that is loaded, or first used, with a later client.
TEST(ThreadsOfAClient, EndBeforeWhatWasBroughtInAfterTheFirstClient) {
    EXPECT_EQ(in_child([] {
                  const auto hold_for_ever = [](const char* url) {
                      auto* const mutex = new Mutex(connect(url).mutex("jobs"));
                      new Hold(mutex->acquire());
                  };
                  hold_for_ever("memory:first");
                  std::atexit([] { _exit(await(none_is_left, 2s) ? 0 : 1); });
                  hold_for_ever("memory:second");
                  return 2;
              }),
              0);
}

TEST(AForkedChild, OfACallbackWaitsForWhatItGivesBack) {
    const test::TemporaryFolder folder;
    const std::string url = "local://" + folder.path().string();
    auto mutex = connect("memory:").mutex("jobs");
    std::promise<int> status;
    mutex.async_acquire([&](const std::exception_ptr&, const Attempt&) {
        status.set_value(in_child([&] {
            auto hold_of_its_own = connect(url).mutex("others").acquire();
            _exit(static_cast<int>(hold_of_its_own.release()));
            return 1;
        }));
    });
    EXPECT_EQ(status.get_future().get(), static_cast<int>(Released::in_time));
}

TEST(AForkedChild, OfACallbackOfAStoreMayWaitForAnother) {
    const test::TemporaryFolder folder;
    const std::string url = "local://" + folder.path().string();
    const CallbackScope callback;
    EXPECT_EQ(in_child([&] {
                  const CallbackScope of_its_own;
                  _exit(inside_callback() ? 0 : 2);
                  return 1;
              }),
              0);
    EXPECT_EQ(in_child([&] {
                  auto hold = connect(url).mutex("others").acquire();
                  _exit(static_cast<int>(hold.release()));
                  return 1;
              }),
              static_cast<int>(Released::in_time));
}

TEST(AForkedChild, IsToldAtOnceThatItHasLostTheHold) {
    const auto hold = connect("memory:").mutex("jobs").acquire();
    EXPECT_EQ(in_child([&] {
                  const bool told = !hold.held() && hold.lost().stop_requested();
                  _exit(told ? 0 : 1);
                  return 1;
              }),
              0);
    EXPECT_FALSE(hold.lost().stop_requested());
}

}  // namespace
}  // namespace holdfast
