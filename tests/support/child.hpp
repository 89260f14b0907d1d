#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "support/await.hpp"

namespace holdfast::test {

/// The program that runs now, to be started again as something else.
inline std::string this_program() {
    return std::filesystem::read_symlink("/proc/self/exe");
}

/// A child process that is talked to in lines. Killed and reaped with this object.
class Child {
public:
    explicit Child(std::vector<std::string> arguments) { spawn(std::move(arguments)); }
    ~Child() { end(); }
    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)),
          input_(std::exchange(other.input_, -1)),
          output_(std::exchange(other.output_, -1)),
          read_(std::move(other.read_)) {}
    Child& operator=(Child&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(input_, other.input_);
        std::swap(output_, other.output_);
        std::swap(read_, other.read_);
        return *this;
    }

    pid_t pid() const { return pid_; }
    void signal(int number) const {
        // Of one that has ended it is -1, which to kill(2) means every process there is.
        if (pid_ > 0) ::kill(pid_, number);
    }

    void say(const std::string& line) const {
        const std::string text = line + "\n";
        if (write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            throw std::system_error(errno, std::generic_category(), "talking to a child");
        }
    }

    /// The next line that the child says; nothing when it says none in time, or has ended.
    std::optional<std::string> hear(std::chrono::milliseconds limit = patience) {
        const auto end = std::chrono::steady_clock::now() + limit;
        for (;;) {
            if (const auto found = read_.find('\n'); found != std::string::npos) {
                std::string line = read_.substr(0, found);
                read_.erase(0, found + 1);
                return line;
            }
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            pollfd readable{output_, POLLIN, 0};
            if (left.count() < 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) {
                return std::nullopt;
            }
            char buffer[1024];
            const ssize_t count = ::read(output_, buffer, sizeof buffer);
            if (count <= 0) return std::nullopt;
            read_.append(buffer, static_cast<std::size_t>(count));
        }
    }
    std::string ask(const std::string& line) {
        say(line);
        return hear().value_or("nothing");
    }

    /// Its wait status once it has ended; nothing when it has not in time.
    std::optional<int> ended(std::chrono::milliseconds limit = patience) {
        int status = 0;
        const bool reaped = await([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, limit);
        if (!reaped) return std::nullopt;
        pid_ = -1;
        return status;
    }
    void kill() {
        if (pid_ < 0) return;
        signal(SIGKILL);
        static_cast<void>(ended());
    }
    /// Returns when the kernel has stopped every thread of it.
    void stop() const {
        signal(SIGSTOP);
        int status = 0;
        waitpid(pid_, &status, WUNTRACED);
    }
    void go_on() const { signal(SIGCONT); }

private:
    void spawn(std::vector<std::string> arguments) {
        int in[2];
        int out[2];
        if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
            throw std::system_error(errno, std::generic_category(), "pipe");
        }
        input_ = in[1];
        output_ = out[0];
        std::vector<char*> raw;
        for (std::string& argument : arguments) raw.push_back(argument.data());
        raw.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        const int error = posix_spawnp(&pid_, raw[0], &actions, nullptr, raw.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        close(in[0]);
        close(out[1]);
        if (error != 0) throw std::system_error(error, std::generic_category(), arguments[0]);
    }

    void end() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        if (input_ >= 0) close(input_);
        if (output_ >= 0) close(output_);
    }

    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string read_;
};

}  // namespace holdfast::test
