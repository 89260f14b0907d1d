#pragma once

#include <charconv>
#include <cstdint>
#include <holdfast/holdfast.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/child.hpp"

namespace holdfast::test {

/// What makes a test program a contender instead of the tests: see contender_main.hpp.
inline constexpr const char* contender_flag = "--contender";

/// Starts processes that contend for the store at one URL.
class Contenders {
public:
    explicit Contenders(std::string url) : url_(std::move(url)) {}

    /// One that does what it is told; started by the command `around` if there is one.
    Child talker(std::vector<std::string> around = {}) const {
        std::vector<std::string> arguments = std::move(around);
        arguments.insert(arguments.end(), {this_program(), contender_flag, "talk", url_});
        return Child(std::move(arguments));
    }
    /// One that is busy by itself. The number is that of its rounds or of its corner.
    Child busy(const std::string& how, const std::string& arena_file, int number,
               const std::string& parameters = "") const {
        return Child({this_program(), contender_flag, how, url_ + parameters, arena_file,
                      std::to_string(number)});
    }

private:
    std::string url_;
};

/// The fence in "held 42"; nought when it says something else.
inline std::uint64_t fence_in(const std::string& line) {
    std::uint64_t fence = 0;
    if (line.starts_with("held ")) {
        std::from_chars(line.data() + 5, line.data() + line.size(), fence);
    }
    return fence;
}

/// How many wait for the resource.
inline std::size_t waiters_of(const Client& client, const std::string& name) {
    std::size_t count = 0;
    for (const auto& line : client.inspect(name)) {
        if (line.name == name) count += line.waiters.size();
    }
    return count;
}

/// Whether the child ended by itself, and well, within the limit.
inline bool ended_well(Child& child, std::chrono::milliseconds limit = patience) {
    return child.ended(limit) == 0;
}

}  // namespace holdfast::test
