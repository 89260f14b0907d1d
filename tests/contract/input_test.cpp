#include "contract/stores.hpp"

/// Names, and what cannot be meant.
namespace holdfast::test {
namespace {

using namespace std::string_literals;

class Names : public Contract {};
HOLDFAST_FOR_EVERY_STORE(Names);

TEST_P(Names, TwoNamesNeverShareALock) {
    const std::vector<std::string> names{"orders",
                                         "Orders",
                                         "ORDERS",
                                         "orders ",
                                         " orders",
                                         "orders\n",
                                         "orders\0"s,
                                         "orders\0a"s,
                                         "b",
                                         "b/0",
                                         "b/",
                                         "/b",
                                         "b//0",
                                         "..",
                                         "../b",
                                         ".",
                                         "/",
                                         "{}",
                                         "{b}",
                                         "b{0}",
                                         "a:b",
                                         "a%3Ab",
                                         "%",
                                         "%25",
                                         "%2F",
                                         "*",
                                         "?",
                                         "\\",
                                         "'",
                                         "\"",
                                         "\x80\xff",
                                         "\xff",
                                         "\xc3\xa9",
                                         "e\xcc\x81",
                                         std::string(4096, 'x'),
                                         std::string(4095, 'x'),
                                         std::string(4095, 'x') + "y",
                                         "\0"s,
                                         "\0\0"s,
                                         "\x01",
                                         "holdfast/b",
                                         "-",
                                         "--",
                                         "0",
                                         "00"};
    std::vector<Hold> holds;
    for (const auto& name : names) {
        auto attempt = client_.mutex(name).try_acquire();
        ASSERT_TRUE(attempt) << testing::PrintToString(name);
        EXPECT_EQ(attempt->name(), name);
        holds.push_back(*std::move(attempt));
    }
    for (const auto& name : names) {
        EXPECT_FALSE(another_client().mutex(name).try_lock()) << testing::PrintToString(name);
    }
    const auto lines = client_.inspect();
    EXPECT_EQ(lines.size(), names.size());
    for (const auto& name : names) {
        EXPECT_EQ(std::ranges::count(lines, name, &ResourceInfo::name), 1)
            << testing::PrintToString(name);
    }
}

TEST_P(Names, NestedNamesAreIndependent) {
    const Hold outer = client_.mutex("b").acquire();
    auto inner = client_.mutex("b/0").try_acquire();
    ASSERT_TRUE(inner);
    const auto sibling = client_.mutex("b/1").try_acquire();
    EXPECT_TRUE(sibling);
    EXPECT_EQ(inner->release(), Released::in_time);
    EXPECT_TRUE(outer.held());
}

TEST_P(Names, AnEmptyNameIsRefused) {
    EXPECT_EQ(error_of([&] { return client_.mutex(""); }), errc::invalid_argument);
    EXPECT_EQ(error_of([&] { return client_.semaphore("", 3); }), errc::invalid_argument);
}

TEST_P(Names, AnOversizedNameIsRefusedWithoutRepeatingIt) {
    for (const std::size_t size : {std::size_t{4097}, std::size_t{1} << 20}) {
        try {
            static_cast<void>(client_.mutex(std::string(size, 'x')));
            ADD_FAILURE() << size;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), errc::invalid_argument);
            EXPECT_LT(std::string(error.what()).size(), 300U);
            EXPECT_NE(std::string(error.what()).find("4096"), std::string::npos) << error.what();
        }
    }
}

class BadInput : public Contract {
protected:
    template <class Function>
    void expect_refused(Function function) {
        EXPECT_EQ(error_of(function), errc::invalid_argument);
        EXPECT_TRUE(client_.inspect().empty()) << "something was half done";
    }
};
HOLDFAST_FOR_EVERY_STORE(BadInput);

TEST_P(BadInput, ACapacityOfNoughtOrBeyondAllIsRefused) {
    expect_refused([&] { return client_.semaphore("pool", 0); });
    expect_refused([&] { return client_.semaphore("pool", 1'000'000'001); });
}

TEST_P(BadInput, AWeightOfNoughtIsRefused) {
    auto semaphore = client_.semaphore("pool", 3);
    expect_refused([&] { return semaphore.acquire(0); });
    expect_refused([&] { return semaphore.try_acquire_for(1s, 0); });
    expect_refused([&] { semaphore.async_acquire([](auto, auto) { FAIL(); }, 0); });
}

TEST_P(BadInput, ALeaseOfNoughtOrAYearIsRefused) {
    for (const auto lease : std::vector<std::chrono::milliseconds>{
             0ms, -1ms, 99ms, std::chrono::hours{24} + 1ms, std::chrono::years{1} / 1ms * 1ms,
             std::chrono::milliseconds::max(), std::chrono::milliseconds::min()}) {
        expect_refused([&] { return client_.mutex("orders", {.lease = lease}); });
    }
}

TEST_P(BadInput, ANegativeWaitIsRefused) {
    auto mutex = client_.mutex("orders");
    expect_refused([&] { return mutex.try_acquire_for(-1ns); });
    expect_refused([&] { mutex.async_try_acquire_for(-1ns, [](auto, auto) { FAIL(); }); });
}

TEST_P(BadInput, AnEndlessWaitIsNoOverflow) {
    auto mutex = client_.mutex("orders");
    const auto free = mutex.try_acquire_for(std::chrono::nanoseconds::max());
    ASSERT_TRUE(free);
    std::stop_source stop;
    Thread waiter([&] {
        const auto attempt =
            mutex.try_acquire_for(std::chrono::nanoseconds::max(), stop.get_token());
        EXPECT_FALSE(attempt);
    });
    ASSERT_TRUE(await_waiters("orders", 1));
    // Were it taken for a moment long past, the waiter would be gone by the second look.
    EXPECT_FALSE(await([&] { return waiters("orders") == 0; }, 100ms));
    stop.request_stop();
}

TEST_P(BadInput, AnEndlessWaitForTheObjectIsNoOverflow) {
    auto mutex = client_.mutex("orders");
    mutex.lock();
    std::atomic<bool> waiting{false};
    Thread waiter([&] {
        waiting = true;
        EXPECT_TRUE(mutex.try_lock_for(std::chrono::nanoseconds::max()));
        mutex.unlock();
    });
    ASSERT_TRUE(await([&] { return waiting.load(); }));
    EXPECT_FALSE(await([&] { return !mutex.hold().held(); }, 50ms));
    mutex.unlock();
}

TEST_P(BadInput, AnOversizedOwnerIsRefused) {
    expect_refused([&] { return client_.mutex("orders", {.owner = std::string(1 << 20, 'x')}); });
}

TEST_P(BadInput, AnUnknownParameterIsRefusedNamingTheKnownOnes) {
    try {
        connect(site_->url_with("leese=3s"));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        EXPECT_NE(std::string(error.what()).find("leese"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("prefix"), std::string::npos) << error.what();
    }
}

TEST_P(BadInput, APrefixKeepsNamesApart) {
    const auto staging = connect(site_->url_with("prefix=staging/"));
    const Hold hold = staging.mutex("orders").acquire();
    EXPECT_EQ(hold.name(), "orders");
    EXPECT_TRUE(client_.mutex("orders").try_lock());
    ASSERT_EQ(staging.inspect().size(), 1U);
    EXPECT_EQ(staging.inspect()[0].name, "orders");
}

}  // namespace
}  // namespace holdfast::test
