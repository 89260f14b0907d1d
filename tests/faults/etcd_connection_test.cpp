#include <filesystem>
#include <fstream>

#include "faults/etcd_faults.hpp"

/// A connection that is dead though nobody says so, and what a client leaves behind.
namespace holdfast::test {
namespace {

class EtcdConnection : public EtcdFaults {
protected:
    /// Nothing that is sent on the connection that is used next arrives; new ones are as good as
    /// ever.
    void deaden_connection() {
        proxy_.on_request([first = std::make_shared<bool>(true)](auto) {
            return std::exchange(*first, false) ? Verdict::hold : Verdict::pass;
        });
    }
};

TEST_F(EtcdConnection, ThatIsSilentlyDeadIsReplacedAlsoWhenItsAddressIsGivenTwice) {
    const std::string address = "127.0.0.1:" + std::to_string(proxy_.port());
    const auto user = connect("etcd://" + address + "," + address + "?prefix=" + prefix() +
                              "&connect_timeout=1s&request_timeout=4s");
    auto mutex = user.mutex("orders", long_lived());
    for (int round = 0; round < 4; ++round) {
        mutex.acquire().release();
        deaden_connection();
        const auto start = Clock::now();
        EXPECT_TRUE(mutex.acquire().held());
        EXPECT_LT(Clock::now() - start, 2s) << round;
    }
}

TEST_F(EtcdConnection, OfAWaiterThatIsSilentlyDeadIsReplacedWithItsRenewal) {
    auto first = rival().mutex("orders", long_lived()).acquire();
    const auto user = client("&connect_timeout=1s&request_timeout=4s");
    Acquiring second(user, "orders", {.lease = 3s});
    ASSERT_TRUE(await_waiters("orders", 1));
    EXPECT_FALSE(second.is_over(200ms));
    const auto connections = proxy_.connections();
    deaden_connection();
    // Its renewal finds out.
    ASSERT_TRUE(proxy_.await_connections(connections + 1));
    first.release();
    EXPECT_TRUE(second.is_over(3s));
    EXPECT_TRUE(second.get().held());
}

/// The names of this process's threads.
std::vector<std::string> threads() {
    std::vector<std::string> names;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
}

TEST(EtcdThreads, AreGoneWhenTheLastClientIs) {
    const EtcdServer& server = EtcdServer::shared();
    // A sanitizer has one of its own as soon as there is a second one.
    std::jthread([] {}).join();
    const auto before = threads();
    for (int round = 0; round < 3; ++round) {
        {
            const auto user = connect(server.url());
            auto mutex = user.mutex("threads", {.lease = 2s});
            auto hold = mutex.acquire();
            std::promise<Attempt> told;
            user.mutex("other").async_acquire(
                [&](const std::exception_ptr&, Attempt got) { told.set_value(std::move(got)); });
            const Attempt other = told.get_future().get();
        }
        // The thread that told may be the last to let go of the client.
        EXPECT_TRUE(await([&] { return threads().size() <= before.size(); }, 2s))
            << testing::PrintToString(before) << " " << testing::PrintToString(threads());
    }
}

}  // namespace
}  // namespace holdfast::test
