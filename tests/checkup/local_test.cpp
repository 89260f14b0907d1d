#include <filesystem>

#include "checkup/examined.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {
namespace {

TEST(CheckedLocal, IsWellOrFoundToBeShared) {
    const TemporaryFolder folder;
    const std::string url = "local://" + folder.path().string() + "/store";
    // What is true of the place where tests run is not what they are about.
    const bool contained = found_on(url).contains("local.container");
    if (contained) GTEST_SKIP() << "this is a container";
    const Checkup checkup = expect_well(url);
    EXPECT_FALSE(checkup.clock_ahead);
    EXPECT_TRUE(open_store(url).store->inspect("").get().value().empty());
    EXPECT_THAT(found_on(url + "?mode=0660"), ElementsAre("local.shared"));
}

TEST(CheckedMemory, IsWell) {
    static_cast<void>(expect_well("memory:"));
}

}  // namespace
}  // namespace holdfast::test
