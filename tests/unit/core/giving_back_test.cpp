#include <condition_variable>

#include <holdfast/holdfast.hpp>

#include "core/pursuit.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/client_of_store.hpp"
#include "support/passing_store.hpp"
#include "support/suite.hpp"

/// A store that admits, and is never heard of again.
namespace holdfast::core {
namespace {

/// How leave does not answer.
enum class Silence {
    failed,    ///< after its time, on the caller's own thread
    for_ever,  ///< on its way
};

class SilentStore final : public test::PassingStore {
public:
    SilentStore(Silence silence, std::atomic<bool>& gone)
        : PassingStore(memory::open_memory(std::string{})), silence_(silence), gone_(gone) {}
    ~SilentStore() override { gone_ = true; }

    Pending<Standing> leave(const Ticket&) override {
        if (std::this_thread::get_id() == caller_) ++leaves_of_caller;
        if (silence_ == Silence::for_ever) return never<Standing>();
        return Failure{errc::unreachable, Effect::unknown, "no answer"};
    }
    bool may_block() const noexcept override { return silence_ == Silence::failed; }

    std::atomic<int> leaves_of_caller{0};

private:
    const std::thread::id caller_ = std::this_thread::get_id();
    const Silence silence_;
    std::atomic<bool>& gone_;
};

/// One who wants a resource for so long.
Contender somebody(Context& context, std::string resource, std::chrono::milliseconds lease) {
    return {.resource = std::move(resource),
            .nonce = context.next_nonce(),
            .owner = "somebody",
            .lease = lease};
}

class GivingBack : public testing::TestWithParam<Silence> {
protected:
    std::shared_ptr<HoldState> hold_of_five() {
        Request request;
        for (int i = 0; i < 5; ++i) {
            request.contenders.push_back(somebody(*context_, std::to_string(i), 2s));
        }
        return acquire(context_, std::move(request)).hold;
    }

    std::atomic<bool> gone_{false};
    std::shared_ptr<SilentStore> store_ = std::make_shared<SilentStore>(GetParam(), gone_);
    std::shared_ptr<Context> context_ = test::client_of({.store = store_});
};

TEST_P(GivingBack, SeveralToASilentStoreEndsInTheTimeOfOne) {
    const auto hold = hold_of_five();
    ASSERT_TRUE(hold);
    const Moment began = BootClock::now();
    EXPECT_EQ(hold->release(), Released::unknown);
    EXPECT_LT(BootClock::now() - began, 2 * 2s) << "one lease, whatever the machine does beside";
    // What was not answered is sent once more at once, in the background: but not by a caller
    // whom that might stop.
    EXPECT_EQ(store_->leaves_of_caller, GetParam() == Silence::failed ? 1 : 2 * 5);
}

TEST_P(GivingBack, InTheBackgroundDoesNotOutliveTheClient) {
    auto hold = hold_of_five();
    hold->release();
    hold.reset();
    store_.reset();
    context_.reset();
    EXPECT_TRUE(await([&] { return gone_.load(); }, 5s));
}

/// Answers nothing that it is asked here, and says so after a long time.
class MuteStore final : public test::PassingStore {
public:
    static constexpr auto request_timeout = 25s;

    MuteStore() : PassingStore(memory::open_memory(std::string{})) {}

    Pending<std::vector<Entry>> enter(std::span<const Contender>) override {
        ++enters;
        return never<std::vector<Entry>>(BootClock::now() + request_timeout);
    }
    Pending<Standing> leave(const Ticket&) override {
        ++leaves;
        return never<Standing>(BootClock::now() + request_timeout);
    }

    std::atomic<int> enters{0};
    std::atomic<int> leaves{0};
};

TEST(AStop, DoesNotWaitForAStoreThatIsSilent) {
    const auto store = std::make_shared<MuteStore>();
    const auto context = test::client_of({.store = store, .goodbye = 0ms});
    for (const auto patience : {Patience::none, Patience::wait}) {
        const int before = store->enters;
        const int left_before = store->leaves;
        std::stop_source stop;
        Request request{.contenders = {somebody(*context, "a", 30s)}, .stop = stop.get_token()};
        request.contenders.front().patience = patience;
        auto ended = std::async([&] { return acquire(context, std::move(request)).end; });
        ASSERT_TRUE(await([&] { return store->enters > before; }));
        stop.request_stop();
        EXPECT_EQ(ended.wait_for(10s), std::future_status::ready);
        EXPECT_EQ(ended.get(), Acquisition::End::stopped);
        EXPECT_GT(store->leaves, left_before) << "it may be in line";
    }
}

/// Whoever waits for its answer does the work of another, which throws.
class ThrowingStore final : public test::PassingStore {
public:
    ThrowingStore() : PassingStore(memory::open_memory(std::string{})) {}

    Pending<Standing> leave(const Ticket&) override {
        wire_.throws = leaves++ == 0;
        return never<Standing>();
    }
    Wire& wire() override { return wire_; }

    std::atomic<int> leaves{0};

private:
    class ThrowingWire final : public Wire {
    public:
        ~ThrowingWire() override { close(); }
        std::atomic<bool> throws{false};

    private:
        void turn(std::optional<Moment> until, Due& due) override {
            if (throws.exchange(false)) throw std::runtime_error("somebody else's");
            Wire::turn(until, due);
        }
    };
    ThrowingWire wire_;
};

TEST(ARelease, IsNotEndedByWhatAnotherThrows) {
    const auto store = std::make_shared<ThrowingStore>();
    const auto context = test::client_of({.store = store, .goodbye = 0ms});
    const auto hold = acquire(context, {.contenders = {somebody(*context, "a", 10s)}}).hold;
    EXPECT_EQ(hold->release(), Released::unknown);
    EXPECT_EQ(store->leaves, 2) << "the second in the background";
}

TEST(AStop, ThatCameBeforeATryTakesNothing) {
    const auto client = connect("memory:");
    std::stop_source stop;
    stop.request_stop();
    auto mutex = client.mutex("a");
    const auto attempt = mutex.try_acquire_for(0s, stop.get_token());
    EXPECT_FALSE(attempt);
}

TEST(AClient, ThatEndsOnAThreadOfOursTakesOutWhatItLeavesInLine) {
    const std::shared_ptr<Store> store = memory::open_memory(std::string{});
    auto context = test::client_of({.store = store});
    const Contender one = somebody(*context, "a", 60s);
    const Ticket ticket = store->enter({&one, 1}).get().value().front().ticket;
    Alarm& renewing = context->renewing();
    // As an asynchronous acquisition ends that nobody waits for any more.
    renewing.post([ticket, last = std::move(context)] { last->take_out(ticket, 60s); });
    EXPECT_TRUE(await([&] { return store->inspect("").get().value().empty(); }));
}

/// Where a user gives back a hold on a thread of ours.
enum class Within { lost_callback, completion, observer };

/// Two holds of a store that neither answers nor lets its caller go before the test ends. Both are
/// lost soon, and would be given back for a quarter of a minute.
class GivingBackWithin : public testing::TestWithParam<std::tuple<Within, Silence>> {
protected:
    static constexpr std::chrono::milliseconds lease = 40s;
    static constexpr auto soon = 10s;

    class Stubborn final : public test::PassingStore {
    public:
        explicit Stubborn(Silence silence)
            : PassingStore(memory::open_memory(std::string{})), silence_(silence) {}

        Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
            auto entries = inner().enter(contenders).get();
            // Lost after a moment: a session that others had before, say.
            for (Entry& entry : entries.value()) {
                entry.standing.counted_from = BootClock::now() - lease * 9 / 10 + 200ms;
            }
            return entries;
        }
        bool may_block() const noexcept override { return silence_ == Silence::failed; }
        Pending<std::vector<Standing>> renew(std::span<const Ticket>, Extension) override {
            return never<std::vector<Standing>>();
        }
        Pending<Standing> leave(const Ticket&) override {
            if (silence_ == Silence::for_ever) return never<Standing>();
            std::unique_lock lock(mutex_);
            ++leaves;
            over_.wait(lock, [this] { return is_over_; });
            return Failure{errc::unreachable, Effect::unknown, "no answer"};
        }

        void let_go() {
            const std::lock_guard guard(mutex_);
            is_over_ = true;
            over_.notify_all();
        }

        std::atomic<int> leaves{0};

    private:
        const Silence silence_;
        std::mutex mutex_;
        std::condition_variable over_;
        bool is_over_ = false;
    };

    struct ReleasingObserver final : Observer {
        void lost(std::string_view, std::uint64_t, Loss) override {
            if (const auto one = hold.exchange(nullptr)) one->release();
        }
        std::atomic<std::shared_ptr<HoldState>> hold;
    };

    Request request(std::string resource) {
        return {.contenders = {somebody(*context_, std::move(resource), lease)}};
    }

    const Within within_ = std::get<0>(GetParam());
    std::shared_ptr<Stubborn> store_ = std::make_shared<Stubborn>(std::get<1>(GetParam()));
    std::shared_ptr<ReleasingObserver> observer_ = std::make_shared<ReleasingObserver>();
    std::shared_ptr<Context> context_ =
        test::client_of({.store = store_, .options = {.observer = observer_}, .goodbye = 0ms});
};

TEST_P(GivingBackWithin, DoesNotKeepTheNewsFromAnotherHold) {
    std::atomic<bool> completed{false};
    const auto first = acquire(context_, request("a")).hold;
    const auto second = acquire(context_, request("b")).hold;
    std::optional<std::stop_callback<std::function<void()>>> callback;
    if (within_ == Within::lost_callback)
        callback.emplace(first->lost(), [&] { first->release(); });
    if (within_ == Within::observer) observer_->hold = first;
    if (within_ == Within::completion) {
        acquire_async(context_, request("c"), [&](const Outcome& outcome) {
            outcome.hold->release();
            completed = true;
        });
    }
    EXPECT_TRUE(await([&] { return second->lost().stop_requested(); }, soon));
    EXPECT_TRUE(within_ != Within::completion || await([&] { return completed.load(); }, soon));
    store_->let_go();
}

using GivingBackTwice = GivingBackWithin;

TEST_P(GivingBackTwice, DoesNotWaitForTheOtherThread) {
    const auto first = acquire(context_, request("a")).hold;
    const auto second = acquire(context_, request("b")).hold;
    std::thread releasing;
    const auto entered = [&] {
        releasing = std::thread([&] { first->release(); });
        EXPECT_TRUE(await([&] { return store_->leaves == 1; }));
        first->release();
    };
    std::optional<std::stop_callback<std::function<void()>>> callback;
    callback.emplace(first->lost(), entered);
    EXPECT_TRUE(await([&] { return second->lost().stop_requested(); }, soon));
    store_->let_go();
    ASSERT_TRUE(releasing.joinable());
    releasing.join();
}

std::string name_of(const testing::TestParamInfo<std::tuple<Within, Silence>>& one) {
    static constexpr const char* places[] = {"ALostCallback", "ACompletion", "AnObserver"};
    const auto [within, silence] = one.param;
    return std::string(places[static_cast<int>(within)]) +
           (silence == Silence::failed ? "Blocking" : "Unanswered");
}

INSTANTIATE_TEST_SUITE_P(Each, GivingBackWithin,
                         testing::Combine(testing::Values(Within::lost_callback, Within::completion,
                                                          Within::observer),
                                          testing::Values(Silence::failed, Silence::for_ever)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(WithinACallback, GivingBackTwice,
                         testing::Values(std::tuple(Within::lost_callback, Silence::failed)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Each, GivingBack, testing::Values(Silence::failed, Silence::for_ever),
                         [](const auto& one) {
                             return one.param == Silence::failed ? "Failing" : "Unanswered";
                         });

}  // namespace
}  // namespace holdfast::core
