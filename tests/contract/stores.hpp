#pragma once

#include <holdfast/holdfast.hpp>

#include "port/store.hpp"
#include "support/acquiring.hpp"
#include "support/soak.hpp"

namespace holdfast::test {

using Clock = std::chrono::steady_clock;

/// One store of its own, empty, for one test. All who connect to its URL share it.
class Site {
public:
    virtual ~Site() = default;
    virtual std::string url() const = 0;
    /// The same with one parameter more.
    std::string url_with(const std::string& parameter) const {
        return url() + (url().find('?') == std::string::npos ? '?' : '&') + parameter;
    }
    /// The same for a process that will die or stand still, where how soon that is noticed is a
    /// matter of the URL. It allows leases of up to a second.
    virtual std::string url_of_mortals() const { return url(); }
};

struct StoreUnderTest {
    std::string name;
    std::unique_ptr<Site> (*make)();
    /// Processes that connect to one URL share one store: the cases with real processes run too.
    bool between_processes = true;
    /// A dead process's places are free at once, not only when their leases have ended.
    bool notices_death = false;
    /// How many rounds each of many contenders makes: a server's take longer.
    int rounds = test::rounds(1000, 5000);
    /// The store runs our code: a place is offered to the next in line for a time, and the stand-by
    /// knows when to look. Otherwise who is first in line has it, for as long as its lease or its
    /// session says.
    bool offers = true;
};

inline void PrintTo(const StoreUnderTest& store, std::ostream* out) {
    *out << store.name;
}

/// Every store that the contract holds for. A new one is added here and nowhere else.
std::vector<StoreUnderTest> stores();
/// Those of them that processes can share.
std::vector<StoreUnderTest> stores_between_processes();

/// What each case starts with: a fresh store and a client of it.
class Contract : public testing::TestWithParam<StoreUnderTest> {
protected:
    /// Another handle on the same store, with threads and waiting of its own.
    Client another_client(ClientOptions options = {}) const;
    /// The port of the same store.
    std::shared_ptr<Store> port() const;
    /// The same, of one that will stand still.
    std::shared_ptr<Store> mortal_port() const;
    Capabilities can() const { return port()->capabilities(); }
    /// An hour, or as much of it as the store allows.
    std::chrono::milliseconds long_lease() const {
        return std::min<std::chrono::milliseconds>(std::chrono::hours{1}, can().longest_lease);
    }
    /// The name as the port knows it.
    static std::string resource(const std::string& name) { return "holdfast/" + name; }

    std::size_t holders(const std::string& name) const;
    std::size_t waiters(const std::string& name) const;
    [[nodiscard]] bool await_waiters(const std::string& name, std::size_t count) const {
        return await([&] { return waiters(name) == count; });
    }
    /// A contender for "orders" that nobody renews, and that claims nothing: what is left of a
    /// client that stands still.
    static Entry enter_undriven(Store& store, std::chrono::milliseconds lease);
    /// Ends whoever holds the resource, as an administrator would.
    void break_holders(const std::string& name) const;

    std::unique_ptr<Site> site_ = GetParam().make();
    Client client_ = connect(site_->url());
};

/// The code of the Error that `function` throws, whatever it would return; nothing when it throws
/// none. Expects its message to be a sentence with a name and a fact.
template <class Function>
std::error_code error_of(Function function) {
    try {
        static_cast<void>(function());
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(": "), std::string::npos) << error.what();
        return error.code();
    }
    return {};
}

/// A thread that is joined before anything that it uses goes.
using Thread = std::jthread;

/// So many threads do the work, each with its number, until all are done.
template <class Work>
void together(int threads, Work work) {
    std::vector<Thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([&work, i] { work(i); });
}

}  // namespace holdfast::test

#define HOLDFAST_FOR_EVERY_STORE(suite)                                                      \
    INSTANTIATE_TEST_SUITE_P(EveryStore, suite, testing::ValuesIn(holdfast::test::stores()), \
                             [](const auto& about) { return about.param.name; })

/// For cases with several processes. In a build without any such store there are none.
#define HOLDFAST_FOR_EVERY_STORE_BETWEEN_PROCESSES(suite)                                   \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                   \
    INSTANTIATE_TEST_SUITE_P(EveryStore, suite,                                             \
                             testing::ValuesIn(holdfast::test::stores_between_processes()), \
                             [](const auto& about) { return about.param.name; })
