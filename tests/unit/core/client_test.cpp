#include <shared_mutex>

#include <holdfast/holdfast.hpp>

#include "support/suite.hpp"

/// What the public classes are as values: stored, copied, given what they need in code.
namespace holdfast {
namespace {

static_assert(std::is_nothrow_copy_constructible_v<Error>);
static_assert(std::is_nothrow_copy_assignable_v<Error>);
static_assert(std::is_nothrow_default_constructible_v<Hold>);

std::error_code code_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.code();
    }
    return {};
}

TEST(ALock, CanBeStored) {
    const auto client = connect("memory:");
    std::optional<Mutex> one;
    one.emplace(client, "one", LockOptions{.lease = 5s});
    std::map<std::string, SharedMutex> tables;
    SharedMutex& table = tables.try_emplace("orders", client, "orders").first->second;
    const auto pool = std::make_unique<Semaphore>(client, "pool", 3U);
    const auto both = std::make_unique<MultiLock>(client, std::vector<std::string>{"a", "b"});
    RecursiveMutex again(client, "again");
    const std::scoped_lock guards(*one, table, again);
    const Hold permit = pool->acquire(2);
    const Hold several = both->acquire();
    EXPECT_EQ(one->name(), "one");
    EXPECT_EQ(client.inspect().size(), 6U);
}

TEST(ALock, ThatCannotBeIsRefusedWhereItIsMade) {
    const auto client = connect("memory:");
    EXPECT_EQ(code_of([&] { Mutex(client, ""); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { Semaphore(client, "pool", 0); }), errc::invalid_argument);
}

TEST(ALock, IsTriedUntilAMomentOfAnyClock) {
    const auto client = connect("memory:");
    Mutex mutex(client, "orders");
    SharedMutex table(client, "table");
    Semaphore pool(client, "pool", 1);
    MultiLock both(client, {"a", "b"});
    const auto soon = [] { return std::chrono::steady_clock::now() + 20ms; };
    const Attempt first = mutex.try_acquire_until(std::chrono::system_clock::now() + 1h);
    const Attempt reader = table.try_acquire_shared_until(soon());
    const Attempt permit = pool.try_acquire_until(soon());
    const Attempt several = both.try_acquire_until(soon());
    EXPECT_TRUE(first && reader && permit && several);
    const Attempt second = mutex.try_acquire_until(soon());
    const Attempt writer = table.try_acquire_until(soon());
    const Attempt another = pool.try_acquire_until(std::chrono::system_clock::now() - 1h);
    EXPECT_FALSE(second || writer || another);
}

TEST(ASharedMutex, ShowsTheHoldBehindThisThreadsLock) {
    SharedMutex table(connect("memory:"), "table");
    EXPECT_FALSE(table.shared_hold().held());
    table.lock_shared();
    const std::uint64_t fence = table.shared_hold().fence();
    EXPECT_TRUE(table.shared_hold().held());
    std::jthread([&] {
        EXPECT_FALSE(table.shared_hold().held());
        const std::shared_lock guard(table);
        EXPECT_GT(table.shared_hold().fence(), fence);
    }).join();
    EXPECT_EQ(table.shared_hold().fence(), fence);
    table.unlock_shared();
    EXPECT_FALSE(table.shared_hold().held());
}

TEST(WithLock, CallsWhateverCanBeInvoked) {
    const auto client = connect("memory:");
    EXPECT_GT(client.with_lock("orders", &Hold::fence), 0U);
    bool held = false;
    client.with_lock("orders", [&](const Hold& hold) { held = hold.held(); });
    EXPECT_TRUE(held);
}

TEST(AnError, IsTheSameWhenItIsCopied) {
    std::optional<Error> first(std::in_place, errc::unreachable, "orders: nobody answers",
                               Effect::unknown);
    const Error copy = *first;
    first.reset();
    EXPECT_STREQ(copy.what(), "orders: nobody answers");
    EXPECT_EQ(copy.effect(), Effect::unknown);
    EXPECT_EQ(copy.code(), errc::unreachable);
}

TEST(ConnectionOptions, AreRefusedByAStoreThatHasNoUseForThem) {
    const auto with = [](ConnectionOptions connection) {
        return code_of([&] { connect("memory:", {.connection = std::move(connection)}); });
    };
    EXPECT_EQ(with({.password = "secret"}), errc::bad_configuration);
    EXPECT_EQ(with({.tls_ca = "ca.pem"}), errc::bad_configuration);
    EXPECT_EQ(with({.request_timeout = 0ms}), errc::bad_configuration);
    EXPECT_EQ(with({.request_timeout = 2s}), std::error_code());
}

}  // namespace
}  // namespace holdfast
