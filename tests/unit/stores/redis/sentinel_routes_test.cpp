#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "faults/lying_servers.hpp"
#include "stores/redis/routes.hpp"
#include "support/await.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using test::FaultProxy;
using test::LyingSentinel;

constexpr int deposed = 1;
constexpr int promoted = 2;

/// Those of one client. Once they have settled, its clock stands still unless the test sets it. The
/// masters that the sentinels name are asked for nothing.
class BySentinels : public testing::Test {
protected:
    /// Hears the first `heard` of them, and follows the deposed master.
    void lead_with(const std::vector<int>& sentinels, std::ptrdiff_t heard) {
        Servers servers{.kind = Servers::Kind::sentinel, .master = "mymaster"};
        for (const int port : sentinels) {
            Address& sentinel = servers.named.emplace_back();
            sentinel.kind = "sentinel";
            sentinel.host = "127.0.0.1";
            sentinel.port = static_cast<std::uint16_t>(port);
        }
        routes_ = sentinel_routes({std::move(servers), {}, [] {}, lobby_});
        ASSERT_TRUE(await_settled(heard));
    }
    /// As whoever leads does.
    void turn() {
        std::vector<pollfd> polled;
        for (const auto& one : routes_->informants()) one->poll_for(polled);
        poll(polled.data(), polled.size(), 0);
        std::size_t at = 0;
        for (const auto& one : routes_->informants()) {
            one->read(std::span<const pollfd>(polled).subspan(at, Informant::polled));
            at += Informant::polled;
        }
        go_on();
    }
    void go_on() {
        Routes::Due due;
        routes_->go_on(now_, true, due);
    }
    template <class Condition>
    [[nodiscard]] bool await_turn(Condition condition) {
        return test::await(
            [&] {
                turn();
                return condition();
            },
            10s);
    }
    /// Until nobody is asked, and nobody is about to be.
    [[nodiscard]] bool await_settled(std::ptrdiff_t heard) {
        int quiet = 0;
        return await_turn([&] {
            now_ += 1ms;
            const auto& sentinels = routes_->informants();
            const bool settled =
                follows(deposed) && routes_->is_sure() &&
                std::ranges::none_of(sentinels, [](const auto& one) { return one->is_asked(); }) &&
                std::all_of(sentinels.begin(), sentinels.begin() + heard,
                            [](const auto& one) { return one->is_heard(); });
            quiet = settled ? quiet + 1 : 0;
            // Longer than between two looks.
            return quiet > 150;
        });
    }
    void nobody_looks_for(std::chrono::nanoseconds time) { now_ += time; }

    bool follows(int master) const {
        return !routes_->nodes().empty() && routes_->nodes().front()->host().port == master;
    }

    Moment now_ = BootClock::now();
    Lobby lobby_{"sentinels", 3s};
    std::unique_ptr<Routes> routes_;
};

/// One that is asked, and will not be listened to.
class Unheard {
public:
    Unheard() {
        proxy_.on_request([this](std::string_view request) {
            const bool listens = test::words_of(request).front() == "SUBSCRIBE";
            listeners_ += listens ? 1 : 0;
            return listens ? test::Verdict::hold : test::Verdict::pass;
        });
    }
    void say(int master, std::uint64_t epoch) { sentinel_.say(master, epoch); }
    int port() const { return proxy_.port(); }
    /// How often somebody has wanted to.
    int listeners() const { return listeners_; }

private:
    std::atomic<int> listeners_{0};
    LyingSentinel sentinel_{deposed, 5};
    FaultProxy proxy_{sentinel_.port()};
};

TEST_F(BySentinels, OneThatIsHeardDoesNotVouchForAMasterAlone) {
    const LyingSentinel cut_off(deposed, 5);
    Unheard second;
    Unheard third;
    lead_with({cut_off.port(), second.port(), third.port()}, 1);
    second.say(promoted, 6);
    third.say(promoted, 6);
    nobody_looks_for(3s);
    turn();
    EXPECT_FALSE(routes_->is_sure());
    ASSERT_TRUE(await_turn([&] { return routes_->is_sure(); }));
    EXPECT_TRUE(follows(promoted));
}

TEST_F(BySentinels, MostOfThemVouchForAMasterWithoutBeingAsked) {
    const LyingSentinel first(deposed, 5);
    const LyingSentinel second(deposed, 5);
    const Unheard third;
    lead_with({first.port(), second.port(), third.port()}, 2);
    nobody_looks_for(3s);
    turn();
    EXPECT_FALSE(routes_->is_sure());
    const int asked = first.questions();
    ASSERT_TRUE(await_turn([&] { return routes_->is_sure(); }));
    EXPECT_EQ(first.questions(), asked);
}

TEST_F(BySentinels, AnswersEndADoubtThoughNobodyIsHeard) {
    Unheard only;
    lead_with({only.port()}, 0);
    only.say(promoted, 6);
    nobody_looks_for(3s);
    turn();
    EXPECT_FALSE(routes_->is_sure());
    ASSERT_TRUE(await_turn([&] { return routes_->is_sure(); })) << "before its time is up";
    EXPECT_TRUE(follows(promoted));
}

/// Nothing was read meanwhile, so nobody can have said anything.
TEST_F(BySentinels, APauseInADoubtBeginsItAnew) {
    const LyingSentinel sentinel(deposed, 5);
    lead_with({sentinel.port()}, 1);
    nobody_looks_for(3s);
    go_on();
    EXPECT_FALSE(routes_->is_sure());
    nobody_looks_for(5s);
    go_on();
    EXPECT_FALSE(routes_->is_sure()) << "nobody has looked";
    ASSERT_TRUE(await_turn([&] { return routes_->is_sure(); }));
}

/// They were asked in it, and have not answered.
TEST_F(BySentinels, APauseInADoubtBeginsItAnewThoughTheyWereAsked) {
    Unheard only;
    lead_with({only.port()}, 0);
    nobody_looks_for(3s);
    go_on();
    EXPECT_FALSE(routes_->is_sure());
    nobody_looks_for(5s);
    only.say(promoted, 6);
    go_on();
    EXPECT_FALSE(routes_->is_sure()) << "nobody has looked";
    ASSERT_TRUE(await_turn([&] { return routes_->is_sure(); }));
    EXPECT_TRUE(follows(promoted));
}

TEST_F(BySentinels, AConnectionThatIsHalfMadeIsKeptUntilItIsLate) {
    const Unheard only;
    lead_with({only.port()}, 0);
    ASSERT_TRUE(await_turn([&] { return only.listeners() == 1; }));
    nobody_looks_for(2500ms);
    turn();
    ASSERT_TRUE(await_turn([&] { return routes_->is_sure(); }));
    EXPECT_EQ(only.listeners(), 1);
    nobody_looks_for(2500ms);
    EXPECT_TRUE(await_turn([&] { return only.listeners() == 2; })) << "then it is made anew";
}

}  // namespace
}  // namespace holdfast::redis
