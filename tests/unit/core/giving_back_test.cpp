#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/holdfast.hpp>

#include "core/alarm_thread.hpp"
#include "core/context.hpp"
#include "core/pursuit.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/await.hpp"

/// A store that admits, and is never heard of again.
namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using test::await;

/// How leave does not answer.
enum class Silence {
    failed,    ///< after its time, on the caller's own thread
    for_ever,  ///< on its way
};

class SilentStore final : public Store {
public:
    SilentStore(Silence silence, std::atomic<bool>& gone) : silence_(silence), gone_(gone) {}
    ~SilentStore() override { gone_ = true; }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        return inner_->enter(contenders);
    }
    Pending<Standing> standing(const Ticket& ticket) override { return inner_->standing(ticket); }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        return inner_->renew(tickets, extension);
    }
    Pending<Standing> leave(const Ticket&) override {
        if (std::this_thread::get_id() == caller_) ++leaves_of_caller;
        if (silence_ == Silence::for_ever) {
            return Pending<Standing>(std::make_shared<Flight<Standing>>(wire()));
        }
        return Failure{errc::unreachable, Effect::unknown, "no answer"};
    }
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        return inner_->inspect(std::move(prefix));
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        return inner_->watch(ticket, std::move(line_moved));
    }
    Capabilities capabilities() const override { return inner_->capabilities(); }
    Wire& wire() override { return inner_->wire(); }
    const std::string& description() const override { return inner_->description(); }

    std::atomic<int> leaves_of_caller{0};

private:
    const std::thread::id caller_ = std::this_thread::get_id();
    const Silence silence_;
    std::atomic<bool>& gone_;
    std::shared_ptr<Store> inner_ = memory::open_memory(std::string{});
};

class GivingBack : public testing::TestWithParam<Silence> {
protected:
    std::shared_ptr<HoldState> hold_of_five() {
        Request request;
        for (int i = 0; i < 5; ++i) {
            request.contenders.push_back({.resource = std::to_string(i),
                                          .nonce = context_->next_nonce(),
                                          .owner = "somebody",
                                          .lease = 2s});
        }
        return acquire(context_, std::move(request)).hold;
    }

    std::atomic<bool> gone_{false};
    std::shared_ptr<SilentStore> store_ = std::make_shared<SilentStore>(GetParam(), gone_);
    std::shared_ptr<Context> context_ = Context::make({.store = store_,
                                                       .clock = std::make_shared<SystemClock>(),
                                                       .renewing = std::make_unique<AlarmThread>(),
                                                       .telling = std::make_unique<AlarmThread>()});
};

TEST_P(GivingBack, SeveralToASilentStoreEndsInTheTimeOfOne) {
    const auto hold = hold_of_five();
    ASSERT_TRUE(hold);
    const Moment began = BootClock::now();
    EXPECT_EQ(hold->release(), Released::unknown);
    EXPECT_LT(BootClock::now() - began, 2 * 2s) << "one lease, whatever the machine does beside";
    EXPECT_EQ(store_->leaves_of_caller, GetParam() == Silence::failed ? 1 : 5);
}

TEST_P(GivingBack, InTheBackgroundDoesNotOutliveTheClient) {
    auto hold = hold_of_five();
    hold->release();
    hold.reset();
    store_.reset();
    context_.reset();
    EXPECT_TRUE(await([&] { return gone_.load(); }, 5s));
}

/// Answers nothing at all, and says so after a long time.
class MuteStore final : public Store {
public:
    static constexpr auto request_timeout = 25s;

    Pending<std::vector<Entry>> enter(std::span<const Contender>) override {
        ++enters;
        return never<std::vector<Entry>>();
    }
    Pending<Standing> standing(const Ticket&) override { return never<Standing>(); }
    Pending<std::vector<Standing>> renew(std::span<const Ticket>, Extension) override {
        return never<std::vector<Standing>>();
    }
    Pending<Standing> leave(const Ticket&) override {
        ++leaves;
        return never<Standing>();
    }
    Pending<std::vector<Line>> inspect(std::string) override { return never<std::vector<Line>>(); }
    std::unique_ptr<Watch> watch(const Ticket&, LineMoved) override { return nullptr; }
    Capabilities capabilities() const override { return {}; }
    Wire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

    std::atomic<int> enters{0};
    std::atomic<int> leaves{0};

private:
    template <class T>
    Pending<T> never() {
        return Pending<T>(std::make_shared<Flight<T>>(wire_), BootClock::now() + request_timeout);
    }

    std::string description_ = "mute";
    Wire wire_;
};

TEST(AStop, DoesNotWaitForAStoreThatIsSilent) {
    const auto store = std::make_shared<MuteStore>();
    const auto context = Context::make({.store = store,
                                        .clock = std::make_shared<SystemClock>(),
                                        .renewing = std::make_unique<AlarmThread>(),
                                        .telling = std::make_unique<AlarmThread>(),
                                        .goodbye = 0ms});
    for (const auto patience : {Patience::none, Patience::wait}) {
        const int before = store->enters;
        const int left_before = store->leaves;
        std::stop_source stop;
        Request request{.contenders = {{.resource = "a",
                                        .nonce = context->next_nonce(),
                                        .owner = "somebody",
                                        .patience = patience,
                                        .lease = 30s}},
                        .stop = stop.get_token()};
        auto ended = std::async([&] { return acquire(context, std::move(request)).end; });
        ASSERT_TRUE(await([&] { return store->enters > before; }));
        stop.request_stop();
        EXPECT_EQ(ended.wait_for(10s), std::future_status::ready);
        EXPECT_EQ(ended.get(), Acquisition::End::stopped);
        EXPECT_GT(store->leaves, left_before) << "it may be in line";
    }
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
    auto context = Context::make({.store = store,
                                  .clock = std::make_shared<SystemClock>(),
                                  .renewing = std::make_unique<AlarmThread>(),
                                  .telling = std::make_unique<AlarmThread>()});
    const Contender one{
        .resource = "a", .nonce = context->next_nonce(), .owner = "somebody", .lease = 60s};
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

    class Stubborn final : public Store {
    public:
        explicit Stubborn(Silence silence) : silence_(silence) {}

        Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
            auto entries = inner_->enter(contenders).get();
            // Lost after a moment: a session that others had before, say.
            for (Entry& entry : entries.value()) {
                entry.standing.counted_from = BootClock::now() - lease * 9 / 10 + 200ms;
            }
            return entries;
        }
        Pending<Standing> standing(const Ticket& ticket) override {
            return inner_->standing(ticket);
        }
        Pending<std::vector<Standing>> renew(std::span<const Ticket>, Extension) override {
            return Pending<std::vector<Standing>>(
                std::make_shared<Flight<std::vector<Standing>>>(wire()));
        }
        Pending<Standing> leave(const Ticket&) override {
            if (silence_ == Silence::for_ever) {
                return Pending<Standing>(std::make_shared<Flight<Standing>>(wire()));
            }
            std::unique_lock lock(mutex_);
            ++leaves;
            over_.wait(lock, [this] { return is_over_; });
            return Failure{errc::unreachable, Effect::unknown, "no answer"};
        }
        Pending<std::vector<Line>> inspect(std::string prefix) override {
            return inner_->inspect(std::move(prefix));
        }
        std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
            return inner_->watch(ticket, std::move(line_moved));
        }
        Capabilities capabilities() const override { return inner_->capabilities(); }
        Wire& wire() override { return inner_->wire(); }
        const std::string& description() const override { return inner_->description(); }

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
        std::shared_ptr<Store> inner_ = memory::open_memory(std::string{});
    };

    struct ReleasingObserver final : Observer {
        void lost(std::string_view, std::uint64_t, Loss) override {
            if (const auto one = hold.exchange(nullptr)) one->release();
        }
        std::atomic<std::shared_ptr<HoldState>> hold;
    };

    Request request(std::string resource) {
        Request request;
        request.contenders.push_back({.resource = std::move(resource),
                                      .nonce = context_->next_nonce(),
                                      .owner = "somebody",
                                      .lease = lease});
        return request;
    }

    const Within within_ = std::get<0>(GetParam());
    std::shared_ptr<Stubborn> store_ = std::make_shared<Stubborn>(std::get<1>(GetParam()));
    std::shared_ptr<ReleasingObserver> observer_ = std::make_shared<ReleasingObserver>();
    std::shared_ptr<Context> context_ = Context::make({.store = store_,
                                                       .clock = std::make_shared<SystemClock>(),
                                                       .renewing = std::make_unique<AlarmThread>(),
                                                       .telling = std::make_unique<AlarmThread>(),
                                                       .options = {.observer = observer_},
                                                       .goodbye = 0ms});
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
