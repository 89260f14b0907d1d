#include "faults/memcached_faults.hpp"

/// Requests to memcached that were carried out unheard, that came late, or twice.
namespace holdfast::test {
namespace {

using State = Standing::State;

class MemcachedReplies : public MemcachedTrap {
protected:
    /// Its first copy is under way still.
    Hold acquire_by_a_second_copy(const LockOptions& options = long_lived()) {
        const Ambush first = ambush(MemcachedVerb::add, {Verdict::hold});
        Acquiring acquiring(ours_, "orders", options);
        EXPECT_TRUE(first.await_seen(1));
        network_.cut();
        return acquiring.get();
    }

    const Client ours_ = client();
};

// --- an answer that is lost ---

TEST_F(MemcachedReplies, AnAddWhoseReplyIsLostIsFoundToBeOurs) {
    for (const Verdict verdict : {Verdict::drop_reply, Verdict::cut_after}) {
        const Ambush lost = ambush(MemcachedVerb::add, {verdict});
        auto hold = ours_.mutex("orders", long_lived()).acquire();
        EXPECT_GE(lost.seen(), 2U) << "it was asked again";
        EXPECT_TRUE(hold.held());
        EXPECT_FALSE(rival().mutex("orders").try_lock());
        EXPECT_EQ(hold.release(), Released::in_time);
        expect_free_soon();
    }
}

TEST_F(MemcachedReplies, AHoldThatIsFoundToBeOursCountsFromWhatItWasSentForLast) {
    const auto lease = 3s;
    const Ambush lost = ambush(MemcachedVerb::add, {Verdict::drop_reply});
    const auto began = BootClock::now();
    auto hold = ours_.mutex("orders", {.lease = lease}).acquire();
    EXPECT_LE(BootClock::now() + hold.remaining(), began + lease) << "no later than the first send";
    EXPECT_FALSE(await([&] { return !hold.held(); }, 4s)) << "and it is renewed";
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(MemcachedReplies, AnAddThatNeverArrivedIsMadeAgain) {
    const Ambush lost = ambush(MemcachedVerb::add, {Verdict::cut_before, Verdict::cut_before});
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    EXPECT_GE(lost.seen(), 3U);
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(MemcachedReplies, ATryWhoseReplyIsLostGetsItOrNot) {
    auto mutex = ours_.mutex("orders", long_lived());
    {
        const Ambush lost = ambush(MemcachedVerb::add, {Verdict::drop_reply});
        const auto got = mutex.try_acquire();
        EXPECT_TRUE(got);
    }
    expect_free_soon();
    const auto holder = rival().mutex("orders", long_lived()).acquire();
    const Ambush lost = ambush(MemcachedVerb::add, {Verdict::drop_reply});
    const auto busy = mutex.try_acquire();
    EXPECT_FALSE(busy);
    EXPECT_TRUE(holder.held());
}

TEST_F(MemcachedReplies, ARenewalWhoseReplyIsLostKeepsTheHold) {
    auto hold = ours_.mutex("orders", {.lease = 3s}).acquire();
    const Ambush lost = ambush(MemcachedVerb::replace, {Verdict::drop_reply, Verdict::drop_reply});
    ASSERT_TRUE(lost.await_seen(3));
    EXPECT_FALSE(await([&] { return !hold.held(); }, 4s));
    EXPECT_EQ(hold.release(), Released::in_time);
}

TEST_F(MemcachedReplies, AReleaseWhoseReplyIsLostIsNotCalledOneAndTouchesNobody) {
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    const Ambush lost = ambush(MemcachedVerb::remove, {Verdict::drop_reply});
    EXPECT_EQ(hold.release(), Released::unknown) << "somebody else may have ended it";
    expect_free_soon();
}

TEST_F(MemcachedReplies, AReleaseThatNeverArrivedIsMadeAgain) {
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    const Ambush lost = ambush(MemcachedVerb::remove, {Verdict::cut_before});
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AReleaseWhoseSecondCopyFindsThatTheFirstHasLandedIsNotCalledTooLate) {
    auto hold = ours_.mutex("orders", long_lived()).acquire();
    const auto removes = std::make_shared<std::atomic<int>>(0);
    network_.on_request([this, removes](std::string_view request) {
        if (memcached_verb(request) != MemcachedVerb::remove) return Verdict::pass;
        const int number = ++*removes;
        // What is held back by now is the first one.
        if (number == 2) network_.let_pass();
        return number <= 2 ? Verdict::hold : Verdict::pass;
    });
    auto releasing = std::async(std::launch::async, [&] { return hold.release(); });
    ASSERT_TRUE(await([&] { return *removes == 1; }));
    network_.cut();
    ASSERT_TRUE(await([&] { return network_.late_replies() == 1; })) << "the first did not land";
    land();
    EXPECT_EQ(releasing.get(), Released::unknown) << "it was in time, for all that is known";
    expect_free_soon();
}

TEST_F(MemcachedReplies, AConnectionThatBreaksBetweenCostsAHoldNothing) {
    auto hold = ours_.mutex("orders", {.lease = 3s}).acquire();
    for (int i = 0; i < 5; ++i) {
        network_.cut(i % 2 == 0 ? Ending::fin : Ending::reset);
        EXPECT_FALSE(await([&] { return !hold.held(); }, 1s));
    }
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AnAnswerThatIsNotOnesOwnEndsTheConnection) {
    auto mutex = ours_.mutex("orders", long_lived());
    mutex.acquire().release();
    network_.garbage("HD c1 O999999\r\n");
    auto hold = mutex.acquire();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(rival().mutex("orders").try_lock());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

// --- a request that comes late ---

TEST_F(MemcachedReplies, AnOldAddThatLandsAfterTheReleaseIsTakenOut) {
    auto hold = acquire_by_a_second_copy();
    EXPECT_EQ(hold.release(), Released::in_time);
    land();
    expect_free_soon();
}

TEST_F(MemcachedReplies, WhoLooksForAnOldAddDoesNotOvertakeTheRelease) {
    auto hold = acquire_by_a_second_copy({.lease = 3s});
    network_.delay_replies(100ms);
    const Ambush renewal = ambush(MemcachedVerb::replace, {});
    ASSERT_TRUE(renewal.await_seen(1));
    EXPECT_EQ(hold.release(), Released::in_time) << "it met its renewal, and asked for the version";
    land();
    expect_free_soon();
}

TEST_F(MemcachedReplies, AnOldAddThatLandsAmidTheHoldChangesNothing) {
    auto hold = acquire_by_a_second_copy();
    land();
    EXPECT_TRUE(hold.held());
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AnOldAddThatLandsInTheNextHoldLeavesItAlone) {
    auto hold = acquire_by_a_second_copy();
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = rival().mutex("orders", {.lease = 3s}).acquire();
    land();
    EXPECT_FALSE(await([&] { return !next.held(); }, 4s));
    EXPECT_EQ(next.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AnOldAddThatLandsWhenAnotherHasHeldMeanwhileIsNoHoldAnyMore) {
    auto hold = acquire_by_a_second_copy({.lease = 9s});
    server_.flush();
    EXPECT_EQ(rival().mutex("orders", long_lived()).acquire().release(), Released::in_time);
    land();
    EXPECT_TRUE(hold.held()) << "it is not told before its next renewal";
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 6s));
    EXPECT_EQ(hold.loss(), Loss::ended);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AReleaseOfWhatAnOldAddHasMadeOnceMoreIsTooLate) {
    auto hold = acquire_by_a_second_copy();
    server_.flush();
    EXPECT_EQ(rival().mutex("orders", long_lived()).acquire().release(), Released::in_time);
    land();
    EXPECT_EQ(hold.release(), Released::too_late);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AConnectionThatBreaksBeforeTheFirstRenewalCostsNoHold) {
    auto hold = acquire_by_a_second_copy({.lease = 6s});
    auto other = ours_.mutex("bills", {.lease = 6s}).acquire();
    network_.cut();
    EXPECT_FALSE(await([&] { return !hold.held() || !other.held(); }, 7s));
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_EQ(other.release(), Released::in_time);
}

TEST_F(MemcachedReplies, AnOldAddOfATryThatWasToldBusyIsTakenOut) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    auto mutex = ours_.mutex("orders", long_lived());
    const Ambush first = ambush(MemcachedVerb::add, {Verdict::hold});
    auto trying = std::async(std::launch::async, [&] { return mutex.try_acquire(); });
    ASSERT_TRUE(first.await_seen(1));
    network_.cut();
    const auto busy = trying.get();
    EXPECT_FALSE(busy);
    holder.release();
    land();
    expect_free_soon();
}

TEST_F(MemcachedReplies, AnAddThatIsNeverHeardOfFailsAndIsTakenOutWhenItLands) {
    const Client impatient = client("?request_timeout=700ms&connect_timeout=500ms");
    auto mutex = impatient.mutex("orders", long_lived());
    const Ambush first =
        ambush(MemcachedVerb::add, {Verdict::hold, Verdict::hold, Verdict::hold, Verdict::hold});
    try {
        static_cast<void>(mutex.acquire());
        ADD_FAILURE() << "it was acquired";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::unreachable) << error.what();
        EXPECT_EQ(error.effect(), Effect::unknown) << error.what();
    }
    land();
    expect_free_soon();
}

TEST_F(MemcachedReplies, AnOldRenewalThatLandsAfterTheReleaseRecreatesNothing) {
    auto hold = ours_.mutex("orders", {.lease = 6s}).acquire();
    const Ambush first = ambush(MemcachedVerb::replace, {Verdict::hold});
    ASSERT_TRUE(first.await_seen(1));
    network_.cut();
    EXPECT_EQ(hold.release(), Released::in_time);
    land();
    EXPECT_TRUE(is_free());
}

TEST_F(MemcachedReplies, AnOldRenewalThatLandsInTheNextHoldLeavesItAlone) {
    auto hold = ours_.mutex("orders", {.lease = 6s}).acquire();
    const Ambush first = ambush(MemcachedVerb::replace, {Verdict::hold});
    ASSERT_TRUE(first.await_seen(1));
    network_.cut();
    EXPECT_EQ(hold.release(), Released::in_time);
    auto next = rival().mutex("orders", {.lease = 3s}).acquire();
    land();
    EXPECT_FALSE(await([&] { return !next.held(); }, 4s));
    EXPECT_EQ(next.release(), Released::in_time);
}

TEST_F(MemcachedReplies, AnOldReleaseThatLandsInTheNextHoldOfTheSameClientLeavesItAlone) {
    auto mutex = ours_.mutex("orders", {.lease = 3s});
    auto first = mutex.acquire();
    const Ambush late = ambush(MemcachedVerb::remove, {Verdict::hold});
    auto releasing = std::async(std::launch::async, [&] { return first.release(); });
    ASSERT_TRUE(late.await_seen(1));
    network_.cut();
    EXPECT_NE(releasing.get(), Released::too_late);
    auto next = mutex.acquire();
    land();
    EXPECT_FALSE(await([&] { return !next.held(); }, 4s));
    EXPECT_EQ(next.release(), Released::in_time);
}

TEST_F(MemcachedReplies, AnOldAddThatLandsWhileItWaitsIsAHoldOfItsOwn) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    const Ambush first = ambush(MemcachedVerb::add, {Verdict::hold});
    Acquiring acquiring(ours_, "orders", {.lease = 3s});
    ASSERT_TRUE(first.await_seen(1));
    network_.cut();
    EXPECT_FALSE(acquiring.is_over(100ms)) << "the second copy found it busy";
    holder.release();
    network_.let_pass();
    auto hold = acquiring.get();
    EXPECT_FALSE(await([&] { return !hold.held(); }, 4s));
    EXPECT_EQ(hold.release(), Released::in_time);
    expect_free_soon();
}

TEST_F(MemcachedReplies, AForeignHolderThatCameAfterTheLookIsNotBroken) {
    const std::string recipe = "add orders 0 0 1\r\n1";
    const auto store = open_store(server_.url() + "?layout=plain").store;
    server_.command(recipe);
    const auto seen = store->look_at("orders").get().value();
    ASSERT_EQ(seen.size(), 1U);
    server_.command("delete orders");
    server_.command(recipe);
    const Ticket& ticket = seen.front().holders.front().ticket;
    EXPECT_EQ(store->leave(ticket).get().value().state, State::gone);
    EXPECT_EQ(store->look_at("orders").get().value().size(), 1U) << "that is another one's";
}

TEST_F(MemcachedReplies, RenewalsThatRaceWithReleasesRecreateNothing) {
    const auto store = open_store(url_behind()).store;
    for (int i = 0; i < 200; ++i) {
        const Contender one = contender();
        const Ticket ticket = store->enter({&one, 1}).get().value().front().ticket;
        const auto renew = [&] {
            return store->renew({&ticket, 1}, Extension(one.lease)).get().value().front().state;
        };
        {
            const std::jthread renewing([&] { renew(); });
            EXPECT_EQ(store->leave(ticket).get().value().state, State::admitted);
        }
        EXPECT_EQ(renew(), State::gone);
    }
    EXPECT_TRUE(is_free());
}

TEST_F(MemcachedReplies, TheCountIsExactWhileConnectionsBreak) {
    constexpr int threads = 4;
    constexpr int rounds = 50;
    int counter = 0;
    std::atomic<bool> over{false};
    std::jthread breaking([&] {
        while (!over) {
            network_.cut();
            std::this_thread::sleep_for(7ms);
        }
    });
    {
        std::vector<std::jthread> counting;
        for (int i = 0; i < threads; ++i) {
            counting.emplace_back([&] {
                const Client mine = client("?request_timeout=60s");
                auto mutex = mine.mutex("orders", {.lease = 10s});
                for (int round = 0; round < rounds; ++round) {
                    const Hold hold = mutex.acquire();
                    const int seen = counter;
                    std::this_thread::yield();
                    counter = seen + 1;
                }
            });
        }
    }
    over = true;
    EXPECT_EQ(counter, threads * rounds);
}

}  // namespace
}  // namespace holdfast::test
