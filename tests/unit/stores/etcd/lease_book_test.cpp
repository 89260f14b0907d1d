#include "stores/etcd/lease_book.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

constexpr Moment now{1000s};

TEST(ALease, IsCountedInWholeSeconds) {
    EXPECT_EQ(ttl_for(100ms), 1s);
    EXPECT_EQ(ttl_for(30s), 30s);
    EXPECT_EQ(ttl_for(30'001ms), 31s);
}

TEST(ALease, IsTrustedNoLongerThanTheServersKeepIt) {
    const Lease lease{.id = 1, .ttl = 30s, .heard_at = now};
    EXPECT_EQ(lease.counted_from(now + 5s, 30s), now);
    EXPECT_EQ(lease.counted_from(now + 5s, 20s), now + 5s) << "and no longer than it was asked for";
    EXPECT_EQ(lease.counted_from(now + 5s, 60s), now - 30s);
}

TEST(ALease, IsFreshForAThirdOfItsTime) {
    const Lease lease{.id = 1, .ttl = 30s, .heard_at = now};
    EXPECT_TRUE(lease.is_fresh(now + 10s));
    EXPECT_FALSE(lease.is_fresh(now + 10s + 1ns));
}

TEST(TheLeases, AreGotOnceForAllWhoWaitForThem) {
    LeaseBook leases;
    int told = 0;
    const auto count = [&](const Result<Lease>& lease) { told += lease.ok() ? 1 : 100; };
    EXPECT_TRUE(leases.wait_for(30s, count));
    EXPECT_FALSE(leases.wait_for(30s, count));
    EXPECT_TRUE(leases.wait_for(10s, count)) << "of another duration";
    leases.got(30s, {.id = 7, .ttl = 30s, .heard_at = now});
    EXPECT_EQ(told, 2);
    EXPECT_EQ(leases.find(30s)->id, 7);
    leases.failed(10s, {});
    EXPECT_EQ(told, 102);
    EXPECT_TRUE(leases.forget(7));
    EXPECT_FALSE(leases.find(30s));
}

TEST(TheLeases, AreToldToAllAlsoWhenOneOfThemThrows) {
    LeaseBook leases;
    int told = 0;
    EXPECT_TRUE(leases.wait_for(30s, [](const auto&) { throw std::bad_alloc(); }));
    EXPECT_FALSE(leases.wait_for(30s, [&](const auto&) { ++told; }));
    EXPECT_THROW(leases.failed(30s, {}), std::bad_alloc);
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(leases.wait_for(30s, [](const auto&) {})) << "the next one gets it";
}

TEST(TheLeases, AreHeardOfNoEarlierThanBefore) {
    LeaseBook leases;
    leases.got(30s, {.id = 7, .ttl = 30s, .heard_at = now});
    leases.heard(7, now + 3s);
    leases.heard(7, now + 1s);
    EXPECT_EQ(leases.find_by_id(7)->heard_at, now + 3s);
}

}  // namespace
}  // namespace holdfast::etcd
