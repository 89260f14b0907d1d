#include "faults/redis_faults.hpp"

/// Copies of requests that arrive after newer ones were carried out.
namespace holdfast::test {
namespace {

using State = Standing::State;

class RedisLateCopies : public EachLayout {
protected:
    const std::string& url() const { return url_; }
    Result<std::vector<Standing>> renew(const PortUser& user, const Ticket& ticket,
                                        std::chrono::milliseconds lease) const {
        return user.store().renew({&ticket, 1}, lease).get();
    }
    void expect_lengthened(const PortUser& user, const Ticket& ticket) const {
        const auto renewed = renew(user, ticket, lengthened);
        ASSERT_TRUE(renewed.ok()) << renewed.failure().sentence;
        ASSERT_EQ(renewed.value().front().state, State::admitted);
    }
    /// It waits, its first claim is under way for ever, and the next one takes the lock.
    Ticket take_with_a_claim_held_back(const PortUser& user, const Contender& one) {
        auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
        const Ticket ticket = user.enter(one).value().front().ticket;
        {
            const Ambush ambush(proxy_, &RedisLayout::renew, {Verdict::hold});
            EXPECT_FALSE(renew(user, ticket, brief).ok());
        }
        holder.release();
        EXPECT_TRUE(await(
            [&] { return renew(user, ticket, brief).value().front().state == State::admitted; }));
        return ticket;
    }
    void expect_no_ghost(const Contender& one) const {
        {
            const auto next = rival().mutex("orders").try_acquire();
            EXPECT_TRUE(next) << "a ghost has it, weight " << one.weight;
        }
        expect_nobody_left();
    }
    /// Lets pass what was held back, and waits until the server has run it.
    void land() {
        const auto before = scripts_run(server_);
        proxy_.let_pass();
        ASSERT_TRUE(await_scripts(before + 1)) << "it did not come";
    }
    std::chrono::milliseconds lease_left() const {
        const PortUser other(server_.url() + GetParam().parameters());
        const auto lines = other.store().inspect("orders").get();
        if (!lines.ok() || lines.value().empty()) return 0ms;
        return lines.value().front().holders.at(0).lease_left;
    }
    std::vector<Contender> contenders() const {
        auto writer = PortUser::contender();
        auto reader = PortUser::contender();
        reader.weight = 1;
        reader.form = Form::read_write;
        for (Contender* one : {&writer, &reader}) one->lease = brief;
        if (GetParam().name == "plain") return {writer};
        return {writer, reader};
    }

    static constexpr std::chrono::milliseconds brief = 8s;
    static constexpr std::chrono::milliseconds lengthened = 30s;
    const std::string url_ = url_behind("&request_timeout=200ms");
};
HOLDFAST_FOR_EACH_REDIS_LAYOUT(RedisLateCopies);

TEST_P(RedisLateCopies, ALateCopyOfAnOlderRenewalDoesNotCutALengthenedLeaseShort) {
    for (const Contender& one : contenders()) {
        const PortUser user(url());
        const auto entered = user.enter(one);
        ASSERT_TRUE(entered.ok()) << entered.failure().sentence;
        const Ticket ticket = entered.value().front().ticket;
        {
            const Ambush ambush(proxy_, &RedisLayout::renew, {Verdict::hold});
            EXPECT_FALSE(renew(user, ticket, brief).ok());
        }
        expect_lengthened(user, ticket);
        land();
        EXPECT_GT(lease_left(), lengthened / 2) << "weight " << one.weight;
        EXPECT_EQ(user.leave(ticket).value().state, State::admitted);
    }
}

TEST_P(RedisLateCopies, ALateCopyOfAnEnterDoesNotCutALengthenedLeaseShort) {
    for (const Contender& one : contenders()) {
        const PortUser user(url_behind());
        const Ambush ambush(proxy_, &RedisLayout::enter, {Verdict::hold});
        auto entering = std::async(std::launch::async, [&] { return user.enter(one); });
        ASSERT_TRUE(ambush.await_seen(1));
        proxy_.cut();
        const auto entered = entering.get();
        ASSERT_TRUE(entered.ok()) << entered.failure().sentence;
        const Ticket ticket = entered.value().front().ticket;
        expect_lengthened(user, ticket);
        land();
        EXPECT_GT(lease_left(), lengthened / 2) << "weight " << one.weight;
        EXPECT_EQ(user.leave(ticket).value().state, State::admitted);
    }
}

TEST_P(RedisLateCopies, ANewerRenewalMayCutALeaseShort) {
    for (const Contender& one : contenders()) {
        const PortUser user(url());
        const Ticket ticket = user.enter(one).value().front().ticket;
        expect_lengthened(user, ticket);
        ASSERT_TRUE(renew(user, ticket, brief).ok());
        EXPECT_LE(lease_left(), brief) << "weight " << one.weight;
        EXPECT_EQ(user.leave(ticket).value().state, State::admitted);
    }
}

TEST_P(RedisLateCopies, AClaimThatTimedOutAndLandsAfterTheLeaveIsNoGhost) {
    for (const Contender& one : contenders()) {
        const PortUser user(url());
        const Ticket ticket = take_with_a_claim_held_back(user, one);
        EXPECT_EQ(user.leave(ticket).value().state, State::admitted);
        land();
        expect_no_ghost(one);
    }
}

TEST_P(RedisLateCopies, AClaimThatTimedOutIsNoGhostEitherAfterTheHolderHasRenewed) {
    for (const Contender& one : contenders()) {
        const PortUser user(url());
        const Ticket ticket = take_with_a_claim_held_back(user, one);
        expect_lengthened(user, ticket);
        EXPECT_EQ(user.leave(ticket).value().state, State::admitted);
        land();
        expect_no_ghost(one);
    }
}

/// The layouts of others alone: there a waiter is known to its own client only.
class RedisForeignLateCopies : public RedisLateCopies {};
INSTANTIATE_TEST_SUITE_P(Redis, RedisForeignLateCopies,
                         testing::Values(redis_layouts()[1], redis_layouts()[2]),
                         [](const auto& about) { return about.param.name; });

TEST_P(RedisForeignLateCopies, AClaimOfAWaiterWhoseLeaseEndedIsNoGhost) {
    auto holder = rival().mutex("orders", {.lease = long_lease}).acquire();
    const PortUser user(url());
    Contender one = PortUser::contender();
    one.lease = 400ms;
    const Ticket ticket = user.enter(one).value().front().ticket;
    {
        const Ambush ambush(proxy_, &RedisLayout::renew, {Verdict::hold});
        EXPECT_FALSE(renew(user, ticket, 400ms).ok());
    }
    EXPECT_TRUE(await([&] { return user.standing(ticket) == State::gone; }));
    const std::string tombstone = "holdfast_left:*";
    EXPECT_TRUE(await([&] { return server_.command({"KEYS", tombstone}) != "[]"; }));
    holder.release();
    land();
    expect_nobody_left();
}

}  // namespace
}  // namespace holdfast::test
