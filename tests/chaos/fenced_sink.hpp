#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/loopback.hpp"

/// What the locks of a chaos guard: a number for each resource, in a process of its own, which
/// refuses whoever comes with an old fence.
namespace holdfast::chaos {

/// The numbers. Each counts how often it was written; so when one is less than its writes, an
/// update was lost.
class FencedNumbers {
public:
    /// Lets no smaller fence write from now on. What the number is; nothing when it is the smaller
    /// one itself.
    std::optional<std::uint64_t> raise(const std::string& name, std::uint64_t fence);
    bool write(const std::string& name, std::uint64_t fence, std::uint64_t number);

    struct Guarded {
        std::uint64_t fence = 0;
        std::uint64_t number = 0;
        std::uint64_t writes = 0;
        std::uint64_t refused = 0;
    };
    const std::map<std::string, Guarded>& all() const { return guarded_; }

private:
    std::map<std::string, Guarded> guarded_;
};

/// Serves them on a socket until it ends.
class FencedSink {
public:
    explicit FencedSink(const std::filesystem::path& socket);
    ~FencedSink();

    /// Those of all who came. To be asked for when nobody comes any more.
    const FencedNumbers& numbers() const { return numbers_; }

private:
    struct Visitor {
        test::Socket socket;
        std::string read = {};
    };
    void serve(const std::stop_token& stop);
    bool hear(Visitor& visitor);
    std::string answer(const std::string& question);

    test::Socket listener_;
    std::vector<Visitor> visitors_;
    FencedNumbers numbers_;
    std::jthread thread_;
};

/// One who works on the numbers.
class SinkVisitor {
public:
    explicit SinkVisitor(const std::filesystem::path& socket);

    std::optional<std::uint64_t> raise(const std::string& name, std::uint64_t fence);
    bool write(const std::string& name, std::uint64_t fence, std::uint64_t number);

private:
    std::string ask(const std::string& question);

    test::Socket socket_;
};

}  // namespace holdfast::chaos
