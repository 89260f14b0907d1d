#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <holdfast/holdfast.hpp>
#include <string>
#include <vector>

#include "faults/arena.hpp"
#include "faults/contender.hpp"
#include "support/await.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

/// A local store in a folder of its own, contended for by real processes.
class Processes : public testing::Test {
protected:
    std::string url(const std::string& parameters = "") const {
        return "local://" + (folder_.path() / "store").string() + parameters;
    }
    std::filesystem::path arena_file() const { return folder_.path() / "arena"; }

    /// A process that does what it is told.
    Child talker(std::vector<std::string> around = {}) const {
        std::vector<std::string> arguments = std::move(around);
        arguments.insert(arguments.end(), {this_program(), contender_flag, "talk", url()});
        Child child(std::move(arguments));
        EXPECT_EQ(child.hear(), "ready");
        return child;
    }
    Child busy(const std::string& how, int number, const std::string& parameters = "") const {
        return Child({this_program(), contender_flag, how, url(parameters), arena_file().string(),
                      std::to_string(number)});
    }

    std::size_t waiters(const std::string& name) const {
        std::size_t count = 0;
        for (const auto& line : client_.inspect(name)) count += line.waiters.size();
        return count;
    }
    [[nodiscard]] bool await_waiters(const std::string& name, std::size_t count) const {
        return await([&] { return waiters(name) == count; });
    }

    TemporaryFolder folder_;
    Client client_ = connect(url());
};

/// The fence in "held 42"; nought when it says something else.
inline std::uint64_t fence_in(const std::string& line) {
    std::uint64_t fence = 0;
    if (line.starts_with("held ")) {
        std::from_chars(line.data() + 5, line.data() + line.size(), fence);
    }
    return fence;
}

}  // namespace holdfast::test
