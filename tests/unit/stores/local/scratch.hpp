#pragma once

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "port/contender.hpp"

namespace holdfast::local_test {

/// A folder of its own for each test, removed with everything in it.
class ScratchFolder {
public:
    ScratchFolder() {
        std::string pattern = std::filesystem::temp_directory_path() / "holdfast-local-XXXXXX";
        path_ = mkdtemp(pattern.data());
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::string path() const { return path_; }
    /// A store's folder, not made yet.
    std::string store() const { return path_ + "/store"; }

private:
    std::string path_;
};

/// A forked process. It says lines to its parent, and is killed at the end of the test.
class ChildProcess {
public:
    class Parent {
    public:
        explicit Parent(int pipe) : pipe_(pipe) {}
        void say(const std::string& line) const {
            const std::string text = line + "\n";
            static_cast<void>(!write(pipe_, text.data(), text.size()));
        }

    private:
        int pipe_;
    };

    explicit ChildProcess(const std::function<void(Parent)>& work) {
        int ends[2];
        static_cast<void>(!pipe(ends));
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            try {
                work(Parent(ends[1]));
            } catch (const std::exception& error) {
                Parent(ends[1]).say(error.what());
            }
            _exit(0);
        }
        close(ends[1]);
        pipe_ = ends[0];
    }
    ~ChildProcess() {
        kill();
        close(pipe_);
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }
    /// The next line it says; empty when it has ended.
    std::string hear() const {
        std::string line;
        for (char c = 0; read(pipe_, &c, 1) == 1 && c != '\n';) line.push_back(c);
        return line;
    }
    void signal(int number) const { ::kill(pid_, number); }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    /// Waits until SIGSTOP has taken effect.
    void await_stop() const {
        int status = 0;
        waitpid(pid_, &status, WUNTRACED);
    }

private:
    pid_t pid_ = 0;
    int pipe_ = -1;
};

/// Leaves little room: a small file system, or where that may not be mounted, a limit.
inline std::string make_small(const std::string& path) {
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("none", path.c_str(), "tmpfs", 0, "size=1600k") == 0;
    if (mounted) return "mounted";
    const rlimit limit{.rlim_cur = 1600 << 10, .rlim_max = 1600 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    return "limited";
}

inline constexpr gid_t shared_group = 4711;

/// For good: somebody with a group of its own, who is in the shared one too. Needs to be root.
inline bool become_member(uid_t user) {
    return setgroups(1, &shared_group) == 0 && setresgid(user, user, user) == 0 &&
           setresuid(user, user, user) == 0;
}

/// For the children of this process, which has one thread: where that is not permitted, in a user
/// namespace of its own, as the same user.
inline bool enter_new_pid_namespace() {
    const std::string user = std::to_string(geteuid());
    const std::string group = std::to_string(getegid());
    if (unshare(CLONE_NEWPID) == 0) return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return false;
    const auto write_to = [](const char* file, const std::string& text) {
        std::ofstream(file) << text;
    };
    write_to("/proc/self/setgroups", "deny");
    write_to("/proc/self/uid_map", user + " " + user + " 1");
    write_to("/proc/self/gid_map", group + " " + group + " 1");
    return std::to_string(geteuid()) == user;
}

/// A ChildProcess whose work is done by process 1 of a PID namespace of its own; both end together.
/// Says "not permitted" where there can be no such namespace.
inline ChildProcess first_of_a_namespace(const std::function<void(ChildProcess::Parent)>& work) {
    return ChildProcess([&](ChildProcess::Parent parent) {
        if (!enter_new_pid_namespace()) return parent.say("not permitted");
        const pid_t first = fork();
        if (first == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(parent);
            _exit(0);
        }
        waitpid(first, nullptr, 0);
    });
}

inline Contender contender(const std::string& resource, std::uint64_t number,
                           Patience patience = Patience::wait) {
    Contender one{.resource = resource,
                  .nonce = {},
                  .owner = "tester",
                  .patience = patience,
                  .lease = std::chrono::seconds{30}};
    const auto pid = static_cast<std::uint64_t>(getpid());
    std::memcpy(one.nonce.bytes.data(), &number, sizeof number);
    std::memcpy(one.nonce.bytes.data() + 8, &pid, sizeof pid);
    return one;
}

}  // namespace holdfast::local_test
