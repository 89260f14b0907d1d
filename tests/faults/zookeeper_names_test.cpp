#include "faults/zookeeper_faults.hpp"

/// Names are nodes' paths, and people write paths with a slash before them.
namespace holdfast::test {
namespace {

using ZookeeperNames = ZookeeperFaults;

void expect_told(const Error& refused) {
    EXPECT_EQ(refused.code(), errc::invalid_argument) << refused.what();
    expect_says(refused, "begins with a slash; leave it out");
    EXPECT_EQ(std::string_view(refused.what()).find('\n'), std::string_view::npos);
}

TEST_F(ZookeeperNames, WithALeadingSlashAreRefusedInOneLineByEachVerb) {
    const auto user = rival("&prefix=");
    const Hold hold = user.mutex("orders", brief()).acquire();
    expect_told(error_of([&] { return user.mutex("/orders", brief()).acquire(); }));
    expect_told(error_of([&] { return user.mutex("/orders", brief()).try_acquire(); }));
    expect_told(error_of([&] { return user.look_at("/orders"); }));
    expect_told(error_of([&] { return user.inspect("/orders"); }));
    expect_told(error_of([&] { return user.inspect("/"); }));
    expect_told(error_of([&] { return user.break_hold("/orders", hold.fence()); }));
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(user.inspect("").size(), 1U) << "and nothing else was made";
}

TEST_F(ZookeeperNames, WithASlashForAPrefixAreRefusedWhenTheClientIsMade) {
    for (const char* prefix : {"/", "/locks/", "//"}) {
        const auto refused = error_of([&] { return rival(std::string("&prefix=") + prefix); });
        EXPECT_EQ(refused.code(), errc::bad_configuration);
        expect_says(refused, "a prefix begins with no slash");
    }
}

TEST_F(ZookeeperNames, BehindAPrefixAreNoPathsAndMayBeginWithASlash) {
    const auto user = rival();
    const Hold plain = user.mutex("orders", brief()).acquire();
    const Hold other = user.mutex("/orders", brief()).acquire();
    EXPECT_EQ(user.look_at("/orders")->holders.at(0).fence, other.fence());
    EXPECT_EQ(user.inspect("").size(), 2U);
    EXPECT_EQ(user.inspect("/").size(), 1U);
}

}  // namespace
}  // namespace holdfast::test
