#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <holdfast/holdfast.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/loopback.hpp"
#include "support/resp.hpp"

/// Takes locks by the library, for tests that share them with clients of others. It is told what
/// to do, and tells it, as those in tests/clients/ are: see told.py.
namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Options {
public:
    explicit Options(const std::vector<std::string>& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("--");
            given_[words[i]] = has_value ? words[i + 1] : "";
            if (has_value) ++i;
        }
    }
    bool has(const std::string& name) const { return given_.contains("--" + name); }
    std::string text(const std::string& name, const std::string& otherwise = "") const {
        const auto found = given_.find("--" + name);
        return found == given_.end() ? otherwise : found->second;
    }
    int number(const std::string& name, int otherwise) const {
        return has(name) ? std::stoi(text(name)) : otherwise;
    }

private:
    std::map<std::string, std::string> given_;
};

/// What the locks guard knows nothing of them.
class Guarded {
public:
    virtual ~Guarded() = default;
    virtual std::string read(const std::string& name) = 0;  ///< empty while nothing was written
    virtual void write(const std::string& name, const std::string& text) = 0;
    virtual void append(const std::string& name, const std::string& text) = 0;
};

class OnAServer final : public Guarded {
public:
    explicit OnAServer(int port) : socket_(connect_to_port(port)) {}

    std::string read(const std::string& name) override {
        const std::string found = ask({"GET", name});
        return found == "(nil)" ? "" : found;
    }
    void write(const std::string& name, const std::string& text) override {
        ask({"SET", name, text});
    }
    void append(const std::string& name, const std::string& text) override {
        ask({"APPEND", name, text});
    }

private:
    std::string ask(const std::vector<std::string>& words) {
        if (!send_all(socket_, to_resp(words))) throw std::runtime_error("the server is gone");
        for (;;) {
            std::string_view rest = received_;
            if (const auto value = read_resp(rest)) {
                received_.erase(0, received_.size() - rest.size());
                return to_text(*value);
            }
            char buffer[4096];
            const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
            if (count <= 0) throw std::runtime_error("the server does not answer");
            received_.append(buffer, static_cast<std::size_t>(count));
        }
    }

    Socket socket_;
    std::string received_;
};

class InAFolder final : public Guarded {
public:
    explicit InAFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::string read(const std::string& name) override {
        std::string text;
        std::ifstream(folder_ / name) >> text;
        return text;
    }
    void write(const std::string& name, const std::string& text) override {
        std::ofstream(folder_ / name) << text;
    }
    void append(const std::string& name, const std::string& text) override {
        std::ofstream(folder_ / name, std::ios::app) << text;
    }

private:
    const std::filesystem::path folder_;
};

std::unique_ptr<Guarded> open_guarded(const Options& options) {
    if (options.has("folder")) return std::make_unique<InAFolder>(options.text("folder"));
    return std::make_unique<OnAServer>(options.number("port", 0));
}

/// A lock of the kind that is asked for.
class Lock {
public:
    Lock(const Client& client, const Options& options) : kind_(options.text("kind", "lock")) {
        const LockOptions how{.lease = std::chrono::milliseconds{options.number("lease", 30'000)}};
        if (options.has("also")) {
            several_.reset(new MultiLock(
                client.multi_lock({options.text("name"), options.text("also")}, how)));
        } else if (kind_ == "lock") {
            mutex_.reset(new Mutex(client.mutex(options.text("name"), how)));
        } else {
            shared_.reset(new SharedMutex(client.shared_mutex(options.text("name"), how)));
        }
    }
    Hold acquire() {
        if (several_) return several_->acquire();
        if (mutex_) return mutex_->acquire();
        return kind_ == "read" ? shared_->acquire_shared() : shared_->acquire();
    }
    bool only_reads() const { return kind_ == "read"; }

private:
    const std::string kind_;
    std::unique_ptr<Mutex> mutex_;
    std::unique_ptr<SharedMutex> shared_;
    std::unique_ptr<MultiLock> several_;
};

void say(const std::string& line) {
    std::cout << line << std::endl;
}

void await_line() {
    std::string line;
    std::getline(std::cin, line);
}

class Rounds {
public:
    Rounds(Lock& lock, const Options& options)
        : lock_(lock),
          guarded_(open_guarded(options)),
          rounds_(options.number("rounds", 1)),
          counter_(options.text("counter", "counter")),
          mark_(options.text("mark")) {}

    void run() {
        std::uint64_t last_fence = 0;
        for (int i = 0; i < rounds_; ++i) {
            const Hold hold = lock_.acquire();
            // All are 0 where the store gives none.
            const bool has_none = hold.fence() == 0 && last_fence == 0;
            if (!has_none && hold.fence() <= last_fence) {
                throw std::runtime_error("a fence has not risen");
            }
            last_fence = hold.fence();
            if (lock_.only_reads()) {
                look_twice();
            } else {
                count_up();
            }
            if (!mark_.empty()) guarded_->append("journal", mark_);
        }
        say("done " + std::to_string(rounds_));
    }

private:
    void count_up() {
        const std::string before = guarded_->read(counter_);
        const int count = before.empty() ? 0 : std::stoi(before);
        guarded_->write(counter_, std::to_string(count + 1));
    }
    void look_twice() {
        if (guarded_->read(counter_) == guarded_->read(counter_)) return;
        throw std::runtime_error(counter_ + " was changed while it was read-locked");
    }

    Lock& lock_;
    const std::unique_ptr<Guarded> guarded_;
    const int rounds_;
    const std::string counter_;
    const std::string mark_;
};

bool is_told(std::chrono::milliseconds limit) {
    pollfd input{0, POLLIN, 0};
    return poll(&input, 1, static_cast<int>(limit.count())) > 0;
}

void hold_until_told(Lock& lock) {
    const auto started = Clock::now();
    say("waiting");
    Hold hold = lock.acquire();
    say("held " +
        std::to_string(
            std::chrono::round<std::chrono::milliseconds>(Clock::now() - started).count()));
    while (!is_told(5ms)) {
        if (hold.held()) continue;
        const bool ended = hold.loss() == Loss::ended;
        throw std::runtime_error(ended ? "the store says that the lock was lost"
                                       : "the lock was not renewed in time");
    }
    await_line();
    if (hold.release() != Released::in_time) throw std::runtime_error("it was released too late");
    say("released");
}

void work(const Options& options) {
    const Client client = connect(options.text("url"));
    Lock lock(client, options);
    if (options.has("wait-one")) return hold_until_told(lock);
    Rounds rounds(lock, options);
    if (options.has("at-a-line")) {
        say("ready");
        await_line();
    }
    rounds.run();
}

}  // namespace

}  // namespace holdfast::test

int main(int count, char** words) {
    // Nobody outlives a test that crashed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        holdfast::test::work(holdfast::test::Options({words + 1, words + count}));
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::cerr << "holdfast_client: " << error.what() << std::endl;
        return EXIT_FAILURE;
    }
}
