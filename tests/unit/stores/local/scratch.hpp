#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
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
