#include <gtest/gtest.h>

#include <array>

#include "servers/etcd_server.hpp"
#include "stores/open_store.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

class EtcdWithScarceMemory : public testing::Test {
protected:
    Contender contender() {
        ++last_;
        return {.resource = opened_.prefix + "scarce",
                .nonce = {.bytes = {std::byte(last_ % 256), std::byte(last_ / 256)}},
                .owner = "it",
                .lease = 30s};
    }
    auto enter(const Contender& one) { return opened_.store->enter({&one, 1}); }
    static Moment soon() { return BootClock::now() + 5s; }

    OpenedStore opened_ = open_store(test::EtcdServer::shared().url());

private:
    int last_ = 0;
};

/// Up to its request. What gRPC needs does not count, for it ends the process without it.
TEST_F(EtcdWithScarceMemory, OneThatFailsForWantOfItKeepsNobodyFromComingIn) {
    Store& store = *opened_.store;
    std::size_t number = 1;
    for (bool failed = true; failed; ++number) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        test::ScarceMemory memory(number, test::AskedBy::this_program);
        const Contender one = contender();
        std::optional<Pending<std::vector<Entry>>> pending;
        memory.run([&] { pending.emplace(enter(one)); });
        failed = memory.has_failed();
        if (pending) static_cast<void>(std::move(*pending).get(soon()));
        const Contender next = contender();
        const auto entered = enter(next).get(soon());
        ASSERT_TRUE(entered.ok()) << entered.failure().sentence;
        for (const Contender* there : {&one, &next}) {
            const Ticket unknown{there->resource, there->nonce, {}};
            ASSERT_TRUE(store.leave(unknown).get(soon()).ok());
        }
    }
    EXPECT_GT(number, 10U) << "hardly any was made";
}

}  // namespace
}  // namespace holdfast::etcd
