#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "port/clock.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

/// The time of day of servers that are started by it: it stands still until it is moved, so that
/// what a server and the model do at one moment is compared, however long it takes.
class ServerClock final : public Clock {
public:
    ServerClock() {
        // A server may run as somebody else.
        std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
    }

    Moment now() const noexcept override { return Moment{time_}; }
    std::uint64_t wall_microseconds() const noexcept override {
        return static_cast<std::uint64_t>(time_.count());
    }
    void advance(std::chrono::microseconds by) {
        time_ += by;
        if (by.count() > 0) write();
    }

    /// One that has this clock. Its class has no place for an environment, so it inherits ours.
    /// Time stands still from when it answers: some wait for it to pass before they do.
    template <class Server>
    std::unique_ptr<Server> start() {
        setenv("HOLDFAST_TEST_CLOCK", file_.c_str(), 1);
        setenv("LD_PRELOAD", HOLDFAST_TEST_WRONG_CLOCK, 1);
        auto server = std::make_unique<Server>();
        unsetenv("LD_PRELOAD");
        time_ = std::chrono::ceil<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch());
        write();
        return server;
    }

private:
    void write() const {
        const auto whole = folder_.path() / "new";
        std::ofstream(whole) << "=" << time_.count();
        std::filesystem::rename(whole, file_);
    }

    TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_.path() / "clock";
    std::chrono::microseconds time_{0};  ///< since 1970
};

}  // namespace holdfast::test
