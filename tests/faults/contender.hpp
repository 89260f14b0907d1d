#pragma once

#include <string>
#include <vector>

namespace holdfast::test {

/// What makes this program a contender instead of a test.
inline constexpr const char* contender_flag = "--contender";

/// The child process of the fault tests: an ordinary user of the library that can be killed and
/// stopped. The arguments are what follows the flag:
///     talk URL                        does what it is told, a line at a time: see talk()
///     count|read_write|permits URL ARENA ROUNDS
///     churn|tour URL ARENA CORNER     busy until the arena stops it
int contend(const std::vector<std::string>& arguments);

}  // namespace holdfast::test
