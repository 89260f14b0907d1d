#include "faults/planted_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <holdfast/holdfast.hpp>
#include <optional>
#include <string_view>

#include "support/soak.hpp"

/// Values that somebody planted are refused in one sentence, or shown, and never believed: nobody
/// crashes or stands still, no two hold, no fence is one that cannot be.
namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::vector<GroundOf> grounds() {
    return {
#ifdef HOLDFAST_STORE_REDIS
        {.name = "redis", .make = make_redis_ground},
        {.name = "redis_plain", .make = make_plain_redis_ground},
        {.name = "redisson", .make = make_redisson_ground},
#endif
#ifdef HOLDFAST_STORE_REDLOCK
        {.name = "redlock", .make = make_redlock_ground},
#endif
#ifdef HOLDFAST_STORE_ZOOKEEPER
        {.name = "zookeeper", .make = make_zookeeper_ground},
#endif
#ifdef HOLDFAST_STORE_ETCD
        {.name = "etcd", .make = make_etcd_ground},
#endif
#ifdef HOLDFAST_STORE_POSTGRES
        {.name = "postgres", .make = make_postgres_ground},
        {.name = "postgres_layout_shedlock", .make = make_postgres_shedlock_ground},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {.name = "mysql", .make = make_mysql_ground},
        {.name = "mysql_layout_shedlock", .make = make_mysql_shedlock_ground},
#endif
#ifdef HOLDFAST_STORE_MEMCACHED
        {.name = "memcached", .make = make_memcached_ground, .has_fences = false},
        {.name = "memcached_plain", .make = make_plain_memcached_ground, .has_fences = false},
#endif
    };
}

constexpr std::uint64_t beyond_fences = std::uint64_t{1} << 53U;
/// Nothing takes so long but what stands still.
constexpr auto long_time = 5s;

/// A sentence for people: on one line, of a length that one reads.
void expect_sentence(const Error& error) {
    const std::string_view sentence = error.what();
    EXPECT_LT(sentence.size(), 1000U) << sentence.substr(0, 200);
    EXPECT_TRUE(std::ranges::none_of(sentence, [](unsigned char c) {
        return std::iscntrl(c) != 0;
    })) << sentence;
    EXPECT_NE(error.code(), errc::lost) << sentence;
    EXPECT_EQ(error.code().category(), error_category()) << sentence;
    // What no repetition mends is not called unreachable, which would be tried again.
    EXPECT_NE(error.code(), errc::unreachable) << sentence;
}

/// What it gives; nothing when it is refused.
template <class Ask>
auto asked(Ask ask) -> std::optional<decltype(ask())> {
    const auto began = std::chrono::steady_clock::now();
    const auto in_time = [&] {
        EXPECT_LT(std::chrono::steady_clock::now() - began, long_time) << "it stood still";
    };
    try {
        auto answer = ask();
        in_time();
        return answer;
    } catch (const Error& error) {
        in_time();
        expect_sentence(error);
        return std::nullopt;
    }
}

class PlantedValues : public testing::TestWithParam<GroundOf> {
protected:
    /// A hold, if it is had; none when it is busy, or refused.
    static Attempt tried(const Client& client) {
        auto attempt = asked([&] { return client.mutex("orders").try_acquire_for(3ms); });
        return attempt ? std::move(*attempt) : Attempt{};
    }
    void expect_a_fence(const Attempt& attempt) const {
        if (!GetParam().has_fences) return;
        EXPECT_GT(attempt->fence(), 0U);
        EXPECT_LT(attempt->fence(), beyond_fences);
    }
    void expect_listed_or_refused() const {
        asked([&] { return watcher_.look_at("orders"); });
        if (GetParam().has_fences) asked([&] { return watcher_.inspect("or"); });
        asked([&] { return watcher_.break_hold("orders", 7); });
    }

    const std::unique_ptr<Ground> ground_ = GetParam().make();
    const Client one_ = connect(ground_->url());
    const Client other_ = connect(ground_->url());
    const Client watcher_ = connect(ground_->url());
};

TEST_P(PlantedValues, AreRefusedOrShownAndLetNoTwoIn) {
    for (const Planted& value : ground_->values()) {
        SCOPED_TRACE(value.what);
        ground_->clear();
        value.plant();
        expect_listed_or_refused();
        Attempt first = tried(one_);
        if (bool(first)) expect_a_fence(first);
        Attempt second = tried(other_);
        EXPECT_FALSE(bool(first) && bool(second)) << "two are in";
        const auto another = asked([&] { return one_.mutex("invoices").try_acquire_for(10s); });
        EXPECT_TRUE(another && bool(*another)) << "another lock is not had";
        if (bool(first)) first->release();
        if (bool(second)) second->release();
    }
}

TEST_P(PlantedValues, UnderAHolderLetNobodyInWithoutALargerFence) {
    const auto values = ground_->values();
    // The same values: some of them are enough in each run.
    const auto step = static_cast<std::size_t>(rounds(3, 1));
    for (std::size_t i = 0; i < values.size(); i += step) {
        const Planted& value = values[i];
        SCOPED_TRACE(value.what);
        ground_->clear();
        Hold holder = one_.mutex("orders").acquire();
        value.plant();
        Attempt second = tried(other_);
        if (bool(second) && GetParam().has_fences) {
            EXPECT_GT(second->fence(), holder.fence());
            expect_a_fence(second);
        }
        expect_listed_or_refused();
        asked([&] { return holder.release(); });
        if (bool(second)) second->release();
    }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlantedValues);
INSTANTIATE_TEST_SUITE_P(Traps, PlantedValues, testing::ValuesIn(grounds()),
                         [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace holdfast::test
