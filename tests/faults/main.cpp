#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "faults/contender.hpp"

/// The tests, or one of the processes that they start: the same program, so that nothing else has
/// to be built, found or kept in step.
int main(int count, char** arguments) {
    if (count > 1 && std::strcmp(arguments[1], holdfast::test::contender_flag) == 0) {
        return holdfast::test::contend(std::vector<std::string>(arguments + 2, arguments + count));
    }
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
