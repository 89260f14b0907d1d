#include <gtest/gtest.h>

#include <optional>

#include "servers/zookeeper_server.hpp"
#include "stores/open_store.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

Moment soon() {
    return BootClock::now() + 5s;
}

TEST(ZookeeperWithScarceMemory, TheEndOfABargingHoldThatFailsForWantOfItIsAnsweredTheNextTime) {
    const auto opened = open_store(test::ZookeeperServer::shared().url());
    Store& store = *opened.store;
    std::size_t number = 1;
    for (bool failed = true; failed; ++number) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        const Contender one{.resource = opened.prefix + "scarce",
                            .nonce = {.bytes = {std::byte(number % 256), std::byte(number / 256)}},
                            .owner = "it",
                            .fairness = Fairness::barging,
                            .lease = 10s};
        const auto entered = store.enter({&one, 1}).get(soon());
        ASSERT_TRUE(entered.ok()) << entered.failure().sentence;
        const Ticket ticket = entered.value().front().ticket;
        std::optional<Pending<Standing>> pending;
        test::ScarceMemory memory(number);
        memory.run([&] { pending.emplace(store.leave(ticket)); });
        failed = memory.has_failed();
        const auto left = store.leave(ticket).get(soon());
        ASSERT_TRUE(left.ok()) << left.failure().sentence;
    }
    EXPECT_GT(number, 10U) << "hardly any was made";
}

}  // namespace
}  // namespace holdfast::zookeeper
