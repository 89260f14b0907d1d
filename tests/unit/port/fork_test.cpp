#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/fork.hpp"
#include "support/suite.hpp"

namespace holdfast {
namespace {

/// Whether it holds in a forked child.
bool in_child(const std::function<bool()>& check) {
    const pid_t child = fork();
    if (child == 0) _exit(check() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(AForkMark, IsInheritedInTheChildAloneAndInItsChildrenToo) {
    const ForkMark mark;
    EXPECT_FALSE(mark.inherited());
    EXPECT_TRUE(in_child([&] { return mark.inherited(); }));
    EXPECT_TRUE(in_child([&] { return in_child([&] { return mark.inherited(); }); }));
    EXPECT_FALSE(mark.inherited()) << "the parent goes on";
}

TEST(AForkMark, MadeInTheChildIsItsOwn) {
    EXPECT_TRUE(in_child([] { return !ForkMark().inherited(); }));
}

TEST(ADescriptorClosedInTheChild, IsClosedThereAtOnceAndStaysOpenHere) {
    const ClosedInChild owned(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_GE(owned.get(), 0);
    EXPECT_TRUE(in_child([&] { return fcntl(owned.get(), F_GETFD) < 0; }));
    EXPECT_GE(fcntl(owned.get(), F_GETFD), 0);
}

TEST(ADescriptorClosedInTheChild, IsNotClosedTwiceWhenTheNumberIsUsedAgain) {
    auto owned = std::make_unique<ClosedInChild>(open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(in_child([&] {
        const int number = owned->get();
        const int again = open("/dev/null", O_RDONLY | O_CLOEXEC);
        owned.reset();
        return again == number && fcntl(again, F_GETFD) >= 0;
    }));
}

TEST(ADescriptorClosedInTheChild, IsClosedHereWithItsOwner) {
    const int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
    { const ClosedInChild owned(number); }
    EXPECT_LT(fcntl(number, F_GETFD), 0);
}

}  // namespace
}  // namespace holdfast
