#include "core/lock.hpp"
#include "faults/failing_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/client_of_store.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

enum class Driver { blocking, asynchronous };

/// Too long to end while a test looks: who is out of line was taken out of it.
constexpr std::chrono::milliseconds long_lease{60'000};
constexpr std::chrono::milliseconds short_lease{500};
/// For one to come in that should not.
constexpr std::chrono::milliseconds a_moment{5};

/// Two clients on one store, and what they do with it.
class Stage {
public:
    explicit Stage(Driver driver)
        : driver_(driver),
          store_(std::make_shared<FailingStore>(memory::open_memory(std::string{}))) {}

    FailingStore& store() { return *store_; }

    std::shared_ptr<core::Context> client() const { return client_of({.store = store_}); }
    core::Lock lock(std::vector<std::string> names,
                    std::chrono::milliseconds lease = long_lease) const {
        return {client(), std::move(names), Form::mutex, all, {.lease = lease}};
    }

    /// Starts to acquire, in the driver's way.
    std::future<Attempt> begin(const core::Lock& lock,
                               std::optional<std::chrono::nanoseconds> patience = std::nullopt,
                               std::stop_token stop = {}) const {
        return driver_ == Driver::blocking ? block(lock, patience, std::move(stop))
                                           : call_back(lock, patience, std::move(stop));
    }

    /// What became of it: a hold, or nothing when it was busy or failed; a failure must be the one
    /// that was made, and say what is known of its effect.
    Attempt end(std::future<Attempt>& acquisition) {
        if (acquisition.wait_for(patience) != std::future_status::ready) {
            ADD_FAILURE() << "it hangs";
            std::abort();
        }
        try {
            return acquisition.get();
        } catch (const Error& error) {
            if (error.code() == errc::cancelled) return {};
            EXPECT_EQ(error.code(), errc::unreachable) << error.what();
            EXPECT_EQ(error.effect(), expected_effect) << error.what();
            EXPECT_TRUE(store_->failed());
            return {};
        }
    }
    Attempt acquire(const core::Lock& lock) {
        auto acquisition = begin(lock);
        return end(acquisition);
    }

    /// Until it stands in line, or has ended without.
    void await_waiting(const std::future<Attempt>& acquisition) {
        const auto waits = [&] {
            if (acquisition.wait_for(0s) == std::future_status::ready) return true;
            const auto lines = store_->inner().inspect({}).get();
            for (const Line& line : lines.value()) {
                if (!line.waiters.empty()) return true;
            }
            return false;
        };
        EXPECT_TRUE(await(waits)) << "it neither waits nor ends";
    }

    bool line_is_empty() {
        const auto lines = store_->inner().inspect({}).get();
        return lines.value().empty();
    }

    Effect expected_effect = Effect::none;

private:
    static std::future<Attempt> block(const core::Lock& lock,
                                      std::optional<std::chrono::nanoseconds> patience,
                                      std::stop_token stop) {
        return std::async(std::launch::async, [lock, patience, stop]() -> Attempt {
            if (patience) return lock.try_acquire_for(all, *patience, stop);
            return lock.acquire(all, stop);
        });
    }
    static std::future<Attempt> call_back(const core::Lock& lock,
                                          std::optional<std::chrono::nanoseconds> patience,
                                          std::stop_token stop) {
        auto promise = std::make_shared<std::promise<Attempt>>();
        lock.async_acquire(
            all, patience,
            [promise](std::exception_ptr failure, Attempt attempt) {
                if (failure) {
                    promise->set_exception(failure);
                } else {
                    promise->set_value(std::move(attempt));
                }
            },
            std::move(stop));
        return promise->get_future();
    }

    Driver driver_;
    std::shared_ptr<FailingStore> store_;
};

void expect_alone(const Attempt& winner, const Attempt& other) {
    if (winner && other) {
        EXPECT_FALSE(winner->held() && other->held()) << "two hold it";
    }
}

void give_back(Attempt& attempt) {
    attempt = {};
}

void take_and_give_back(Stage& stage) {
    auto hold = stage.acquire(stage.lock({"x"}));
    if (hold) {
        EXPECT_TRUE(hold->held());
        hold->release();
        EXPECT_FALSE(hold->held());
    }
}

/// One waits for `names` while another has `held`, and gets them when that one leaves.
void hand_over(Stage& stage, const std::string& held, std::vector<std::string> names) {
    auto first = stage.acquire(stage.lock({held}));
    auto waiting = stage.begin(stage.lock(std::move(names)));
    Attempt second;
    if (first) {
        stage.await_waiting(waiting);
        // It may end now because its call failed, but not because it was admitted.
        if (waiting.wait_for(a_moment) == std::future_status::ready) second = stage.end(waiting);
        expect_alone(second, first);
    }
    give_back(first);
    if (waiting.valid()) second = stage.end(waiting);
    if (second) {
        EXPECT_TRUE(second->held());
    }
}

void wait_and_get_it(Stage& stage) {
    hand_over(stage, "x", {"x"});
}
void wait_for_the_first_of_several(Stage& stage) {
    hand_over(stage, "x", {"x", "y"});
}
void wait_for_the_last_of_several(Stage& stage) {
    hand_over(stage, "y", {"x", "y"});
}

void several_one_by_one(Stage& stage) {
    stage.store().enters_together = false;
    hand_over(stage, "y", {"x", "y", "z"});
}

void hold_over_renewals(Stage& stage) {
    auto hold = stage.acquire(stage.lock({"x"}, short_lease));
    if (!hold) return;
    const auto before = stage.store().renewals();
    EXPECT_TRUE(await([&] { return stage.store().renewals() >= before + 2; }));
    EXPECT_TRUE(hold->held()) << "one failed renewal must not cost a hold";
    EXPECT_FALSE(hold->lost().stop_requested());
}

void wait_in_vain(Stage& stage) {
    auto hold = stage.acquire(stage.lock({"x"}));
    auto waiting = stage.begin(stage.lock({"x"}), 40ms);
    expect_alone(stage.end(waiting), hold);
}

void cancel_the_wait(Stage& stage) {
    auto hold = stage.acquire(stage.lock({"x"}));
    std::stop_source stop;
    auto waiting = stage.begin(stage.lock({"x"}), std::nullopt, stop.get_token());
    if (hold) stage.await_waiting(waiting);
    stop.request_stop();
    expect_alone(stage.end(waiting), hold);
}

struct Scenario {
    const char* name;
    void (*play)(Stage&);
    Driver driver;

    friend void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }
};

class FailEachCall : public testing::TestWithParam<Scenario> {
protected:
    std::size_t count_calls() {
        Stage stage(GetParam().driver);
        GetParam().play(stage);
        EXPECT_TRUE(await([&] { return stage.line_is_empty(); }));
        return stage.store().calls();
    }

    void play_with(std::size_t number, Failing how) {
        SCOPED_TRACE("call " + std::to_string(number) + " fails in way " +
                     std::to_string(static_cast<int>(how)));
        Stage stage(GetParam().driver);
        stage.expected_effect = how == Failing::no_effect ? Effect::none : Effect::unknown;
        stage.store().fail(number, how);
        GetParam().play(stage);
        EXPECT_TRUE(await([&] { return stage.line_is_empty(); })) << "somebody is left in line";
        stage.store().fail(0, how);
        const auto next = stage.acquire(stage.lock({"x", "y"}));
        ASSERT_TRUE(next);
        EXPECT_TRUE(next->held());
    }
};

TEST_P(FailEachCall, NobodyIsLeftInLineAndTheNextOneGetsIt) {
    const std::size_t calls = count_calls();
    ASSERT_GE(calls, 2U);
    for (std::size_t number = 1; number <= calls; ++number) {
        for (const auto how : {Failing::no_effect, Failing::applied_unheard, Failing::lost}) {
            play_with(number, how);
        }
    }
}

std::vector<Scenario> scenarios() {
    std::vector<Scenario> all_of_them;
    for (const auto driver : {Driver::blocking, Driver::asynchronous}) {
        const Scenario each[] = {
            {"TakeAndGiveBack", take_and_give_back, driver},
            {"WaitAndGetIt", wait_and_get_it, driver},
            {"HoldOverRenewals", hold_over_renewals, driver},
            {"WaitInVain", wait_in_vain, driver},
            {"CancelTheWait", cancel_the_wait, driver},
            {"WaitForTheFirstOfSeveral", wait_for_the_first_of_several, driver},
            {"WaitForTheLastOfSeveral", wait_for_the_last_of_several, driver},
            {"SeveralOneByOne", several_one_by_one, driver},
        };
        all_of_them.insert(all_of_them.end(), std::begin(each), std::end(each));
    }
    return all_of_them;
}

INSTANTIATE_TEST_SUITE_P(Memory, FailEachCall, testing::ValuesIn(scenarios()),
                         [](const auto& scenario) {
                             const bool blocks = scenario.param.driver == Driver::blocking;
                             return std::string(scenario.param.name) +
                                    (blocks ? "Blocking" : "Asynchronously");
                         });

}  // namespace
}  // namespace holdfast::test
