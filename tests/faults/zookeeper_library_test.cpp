#include <zookeeper/zookeeper.h>

#include "faults/server_faults.hpp"
#include "servers/zookeeper_server.hpp"

/// Why the store has a client of its own: what libzookeeper-mt does when a server hangs. Should
/// this fail some day, docs/decisions/0016 wants to be thought over.
namespace holdfast::test {
namespace {

constexpr auto session = 6s;

struct Close {
    void operator()(zhandle_t* handle) const { zookeeper_close(handle); }
};

class Libzookeeper : public testing::Test {
protected:
    void SetUp() override {
        zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
        handle_.reset(zookeeper_init(
            server_.address().c_str(), [](zhandle_t*, int, int, const char*, void*) {},
            std::chrono::milliseconds{session}.count(), nullptr, nullptr, 0));
        ASSERT_NE(handle_, nullptr);
        ASSERT_TRUE(await([&] { return zoo_state(handle_.get()) == ZOO_CONNECTED_STATE; }));
    }
    /// Its asynchronous call, which takes no time limit.
    void look_up(std::atomic<bool>& answered) {
        const auto called = [](int, const Stat*, const void* data) {
            *static_cast<std::atomic<bool>*>(const_cast<void*>(data)) = true;
        };
        ASSERT_EQ(zoo_aexists(handle_.get(), "/", 0, called, &answered), ZOK);
    }

    ZookeeperServer server_;
    std::unique_ptr<zhandle_t, Close> handle_;
};

TEST_F(Libzookeeper, LeavesACallToAStoppedServerUnansweredForMostOfTheSession) {
    std::atomic<bool> before = false;
    look_up(before);
    ASSERT_TRUE(await([&] { return before.load(); }));

    server_.pause();
    const auto asked = Clock::now();
    std::atomic<bool> answered = false;
    look_up(answered);
    EXPECT_TRUE(await([&] { return answered.load(); }));
    EXPECT_GE(Clock::now() - asked, session / 2);
    server_.resume();
}

}  // namespace
}  // namespace holdfast::test
