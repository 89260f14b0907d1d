#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Each, GivingBack, testing::Values(Silence::failed, Silence::for_ever),
                         [](const auto& one) {
                             return one.param == Silence::failed ? "Failing" : "Unanswered";
                         });

}  // namespace
}  // namespace holdfast::core
