#include <barrier>

#include "faults/redlock_faults.hpp"
#include "stores/redlock/candidacy.hpp"
#include "support/soak.hpp"

/// Those who leave before, or while, they enter; and leaves that are not heard.
namespace holdfast::test {
namespace {

namespace scripts = redlock::scripts;
using redlock::Candidacy;
using redlock::Decision;
using Calls = redlock::Requests::Calls;
using State = Standing::State;

Nonce nonce_of(int number) {
    return {{std::byte(number), std::byte(number >> 8), std::byte{3}}};
}

/// Tries without a store around them.
class RedlockTry : public RedlockTrap {
protected:
    std::shared_ptr<Candidacy> another_try() {
        const int number = ++made_;
        const Contender one{.resource = "orders/" + std::to_string(number),
                            .nonce = nonce_of(number),
                            .owner = "somebody",
                            .lease = 60s};
        const redlock::Desk desk{wire_, requests_, acquaintance_, name_, store_};
        auto profile = std::make_shared<redlock::Profile>(requests_.profile_of(one));
        return std::make_shared<Candidacy>(desk, std::move(profile), one.nonce);
    }
    void enter(Candidacy& one) {
        one.enter(60s, [this](const Candidacy::Outcome& outcome) {
            if (outcome.decision == Decision::admitted) ++admitted_;
            ++told_;
        });
    }

    const redlock::Nodes where_ = redlock::nodes_of(parse_store_url(nodes_.url()));
    const std::string name_ = where_.shown();
    const redlock::Requests requests_{where_.terms, where_.set};
    redlock::Acquaintance acquaintance_{where_.terms};
    const std::shared_ptr<const int> store_ = std::make_shared<const int>(0);
    redlock::RedlockWire wire_{where_, requests_.channel()};
    const Wire::Interest interest_ = wire_.interest();
    int made_ = 0;
    std::atomic<int> told_{0};
    std::atomic<int> admitted_{0};
};

TEST_F(RedlockTry, OneThatHasLeftBeforeItEntersEntersNowhere) {
    const auto one = another_try();
    one->leave(Calls::made, {});
    enter(*one);
    ASSERT_TRUE(await([&] { return told_ == 1; }));
    EXPECT_EQ(admitted_, 0);
    // What comes behind it on the same connections has been answered.
    const auto next = another_try();
    enter(*next);
    ASSERT_TRUE(await([&] { return admitted_ == 1; }));
    next->leave(Calls::made, {});
    expect_free_soon();
}

TEST_F(RedlockTry, OneThatLeavesWhileItEntersIsNowhereAfterwards) {
    const int count = rounds(500, 20'000);
    std::vector<std::shared_ptr<Candidacy>> tries;
    for (int i = 0; i < count; ++i) tries.push_back(another_try());
    std::barrier both(2);
    std::jthread leaving([&] {
        for (const auto& one : tries) {
            both.arrive_and_wait();
            one->leave(Calls::made, {});
        }
    });
    for (const auto& one : tries) {
        both.arrive_and_wait();
        enter(*one);
    }
    ASSERT_TRUE(await([&] { return told_ == count; })) << told_;
    expect_free_soon();
}

class RedlockLeaving : public RedlockTrap {
protected:
    static Contender contender(int number) {
        return {.resource = "orders", .nonce = nonce_of(number), .owner = "somebody", .lease = 60s};
    }
};

TEST_F(RedlockLeaving, DeadReadersAreForgottenWhileOthersGoOn) {
    const auto store = open_store(nodes_.url()).store;
    for (int i = 1; i <= 5; ++i) {
        Contender one = contender(i);
        one.resource = "holdfast/table";
        one.weight = 1;
        one.lease = 100ms;
        EXPECT_TRUE(store->enter({&one, 1}).get().ok());
    }
    const Client ours = rival();
    const Hold reader = ours.shared_mutex("table", {.lease = 600ms}).acquire_shared();
    const auto count = [&](std::size_t i) {
        return node(i).command(
            {"EVAL", "return redis.call('HLEN', redis.call('KEYS', '*table=')[1])", "0"});
    };
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(await([&] { return count(i) == "1"; }, 3s)) << count(i);
    }
}

/// The node knows how to leave and not how to enter: so the leave is carried out, the enter is
/// refused unheard, and comes again behind it.
TEST_F(RedlockLeaving, OneWhoseEnterIsRefusedUnheardAndComesAgainBehindItsLeaveIsTakenOut) {
    const LoopbackPort nobody;
    const auto elsewhere =
        RedisNodes::url_at({node(0).port(), node(1).port(), nobody.number()}, "");
    const Client other = connect(elsewhere);
    const Hold hold = other.mutex("orders", long_lived()).acquire();
    const Client ours = client();
    node(2).command({"FUNCTION", "FLUSH"});
    const auto leaver = open_store(nodes_.url()).store;
    EXPECT_TRUE(leaver->leave({"bills", nonce_of(1), {}}).get().ok());
    network(2).delay_replies(100ms);
    const Ambush entering(network(2), asking_for(scripts::enter), {});
    EXPECT_FALSE(ours.mutex("orders", long_lived()).try_lock());
    ASSERT_TRUE(entering.await_seen(2)) << "it came again";
    network(2).pass();
    // What comes behind it on the same connection has been answered.
    static_cast<void>(ours.look_at("bills"));
    EXPECT_TRUE(await([&] { return keys_of_holders(2) == "[]"; }, 5s)) << keys_of_holders(2);
}

/// What is no list of those who wait is found before anything is written, and keeps nobody in.
TEST_F(RedlockLeaving, NobodyIsInWhereSomebodyElseHasAKeyForThoseWhoWait) {
    const Client ours = rival();
    Hold hold = ours.mutex("orders", long_lived()).acquire();
    for (const std::size_t i : {0, 1, 2}) node(i).command({"SET", called_, "what is this"});
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(await([&] { return is_free_everywhere(); }));
    sentence_of([&] { static_cast<void>(ours.mutex("orders", long_lived()).try_acquire()); },
                errc::corrupt);
    EXPECT_TRUE(is_free_everywhere());
}

TEST_F(RedlockLeaving, ALeaveThatIsAskedForAgainAndAgainIsSentToANodeThatIsBackOnce) {
    const auto store = open_store(url_behind("?request_timeout=200ms")).store;
    const auto interest = store->wire().interest();
    const Contender one = contender(1);
    const auto entries = store->enter({&one, 1}).get();
    ASSERT_TRUE(entries.ok());
    ASSERT_TRUE(await([&] { return keys_of_holders(0) != "[]" && keys_of_holders(1) != "[]"; }));
    const Ambush leaving(network(0), asking_for(scripts::leave), {});
    for (const std::size_t i : {0, 1}) node(i).pause();
    for (int i = 0; i < 8; ++i) {
        EXPECT_FALSE(store->leave(entries.value()[0].ticket).get().ok());
    }
    for (const std::size_t i : {0, 1}) node(i).resume();
    EXPECT_TRUE(await([&] { return store->leave(entries.value()[0].ticket).get().ok(); }));
    EXPECT_TRUE(is_free_everywhere());
    EXPECT_LE(leaving.seen(), 3U) << "the first, and one in the background";
}

}  // namespace
}  // namespace holdfast::test
