#include <gtest/gtest.h>

#include "servers/memcached_server.hpp"
#include "stores/open_store.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::memcached {
namespace {

using namespace std::chrono_literals;

/// Of a client of its own: once one has left, a thread of ours leads while nobody else does.
class MemcachedWithScarceMemory : public testing::Test {
protected:
    /// What `ask` begins is answered though whoever leads ends by it, whichever allocation fails.
    template <class Ask>
    void expect_answered(Ask ask) {
        std::size_t number = 1;
        for (bool failed = true; failed; ++number) {
            SCOPED_TRACE("allocation " + std::to_string(number));
            const auto store = open_store(test::MemcachedServer::shared().url()).store;
            const Ticket ticket = held(*store);
            const Ticket others = held(*store);
            auto pending = ask(*store, ticket);
            auto leading = store->standing(others);
            test::ScarceMemory memory(number);
            memory.run([&] { static_cast<void>(std::move(leading).get(soon())); });
            failed = memory.has_failed();
            const auto result = std::move(pending).get(soon());
            ASSERT_TRUE(result.ok() || result.failure().sentence != "no answer in time");
        }
        EXPECT_GT(number, 3U) << "hardly any was made";
    }

private:
    /// As of one whose answer was lost: a copy of what it asked for may come late.
    static Ticket held(Store& store) {
        static int last = 0;
        ++last;
        const Contender one{.resource = "scarce/" + std::to_string(last),
                            .nonce = {.bytes = {std::byte(last % 256), std::byte(last / 256)}},
                            .owner = "it",
                            .lease = 30s};
        EXPECT_TRUE(store.enter({&one, 1}).get(soon()).ok());
        return {one.resource, one.nonce, {}};
    }
    static Moment soon() { return BootClock::now() + 5s; }
};

TEST_F(MemcachedWithScarceMemory, KeepsNobodyWaitingWhoLeaves) {
    expect_answered([](Store& store, const Ticket& ticket) { return store.leave(ticket); });
}

TEST_F(MemcachedWithScarceMemory, KeepsNobodyWaitingWhoRenews) {
    expect_answered([](Store& store, const Ticket& ticket) {
        return store.renew({&ticket, 1}, Extension(30s));
    });
}

}  // namespace
}  // namespace holdfast::memcached
