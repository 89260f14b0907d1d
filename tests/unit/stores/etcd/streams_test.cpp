#include "stores/etcd/streams.hpp"

#include <gtest/gtest.h>

#include "unit/scarce_memory.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

using Due = Arrival::Due;

/// Calls `taken(memory)` with one allocation after the other failing, until none does.
template <class Taken>
void with_each_allocation_failing(Taken taken) {
    std::size_t number = 1;
    for (bool failed = true; failed; ++number) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        test::ScarceMemory memory(number);
        taken(memory);
        failed = memory.has_failed();
    }
    EXPECT_GT(number, 2U) << "hardly any was made";
}

TEST(KeepAlives, TellAnAnswerOnceThoughThereWasNoMemoryForIt) {
    with_each_allocation_failing([](test::ScarceMemory& memory) {
        KeepAlives keep_alives;
        int told = 0;
        keep_alives.add(7, BootClock::now() + 1h, [&](const auto&) { ++told; });
        messages::LeaseKeepAliveResponse answer;
        answer.set_id(7);
        answer.set_ttl(30);
        Due due;
        // The next stream brings it again.
        if (!memory.run([&] { keep_alives.received(answer, due); })) {
            EXPECT_TRUE(keep_alives.wants_stream()) << "it is asked again";
            keep_alives.received(answer, due);
        }
        for (const auto& callback : due) callback();
        EXPECT_EQ(told, 1);
    });
}

TEST(KeepAlives, TellThatTheTimeIsUpOnceThoughThereWasNoMemoryForIt) {
    with_each_allocation_failing([](test::ScarceMemory& memory) {
        KeepAlives keep_alives;
        int told = 0;
        const Moment now = BootClock::now();
        keep_alives.add(7, now, [&](const auto&) { ++told; });
        Due due;
        const Failure failure{errc::unreachable, Effect::unknown, "the time of a request is up"};
        if (!memory.run([&] { keep_alives.expire(now, failure, due); })) {
            keep_alives.expire(now, failure, due);
        }
        for (const auto& callback : due) callback();
        EXPECT_EQ(told, 1);
    });
}

}  // namespace
}  // namespace holdfast::etcd
