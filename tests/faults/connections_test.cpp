#include "faults/sites.hpp"
#include "support/loopback.hpp"

/// Connections that break, stall, or bring what they should not.
namespace holdfast::test {
namespace {

class Connections : public Trap {
protected:
    void expect_works(const Client& ours) const {
        auto hold = ours.mutex("orders", long_lived()).acquire();
        EXPECT_TRUE(hold.held());
        EXPECT_EQ(hold.release(), Released::in_time);
        expect_free();
    }
    static constexpr const char* impatient = "request_timeout=500ms&connect_timeout=500ms";
};
HOLDFAST_AT_SITES(Connections);

// --- the first one ---

TEST_P(Connections, TheFirstThatIsResetIsMadeAgain) {
    std::atomic<int> resets{0};
    network().on_request([&](auto) { return resets++ < 2 ? Verdict::cut_before : Verdict::pass; });
    const Client ours = client("request_timeout=20s");
    EXPECT_GT(resets, 2);
    network().pass();
    expect_works(ours);
}

TEST_P(Connections, AServerThatIsNotThereYetIsWaitedFor) {
    network().refuse();
    auto connecting = std::async(std::launch::async, [&] { return client("request_timeout=20s"); });
    EXPECT_EQ(connecting.wait_for(500ms), std::future_status::timeout) << "it is patient";
    network().pass();
    expect_works(connecting.get());
}

TEST_P(Connections, AServerThatIsNeverThereIsToldOfWithTheReasonWhenTheTimeIsUp) {
    network().refuse();
    const auto start = Clock::now();
    const Error error = error_of([&] { return client("request_timeout=700ms"); });
    EXPECT_GE(Clock::now() - start, 600ms);
    EXPECT_LT(Clock::now() - start, 5s);
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_EQ(error.effect(), Effect::none) << error.what();
    const std::string_view sentence = error.what();
    EXPECT_TRUE(sentence.find("refused") != sentence.npos ||
                sentence.find("can be reached") != sentence.npos)
        << sentence;
}

TEST_P(Connections, ThatFallIntoABlackHoleEndInTheirTimeLimit) {
    network().black_hole();
    const auto start = Clock::now();
    const Error error = error_of([&] { return client(impatient); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    expect_says(error, "127.0.0.1:" + std::to_string(network().port()));
    EXPECT_LT(Clock::now() - start, 5s);
}

// --- a black hole ---

TEST_P(Connections, AHoldBehindABlackHoleIsLostBeforeARivalIsIn) {
    const auto lease = 2 * GetParam().brief;
    const Client ours = client(impatient);
    for (int round = 0; round < 3; ++round) {
        auto hold = ours.mutex("orders", {.lease = lease}).acquire();
        Acquiring next(rival(), "orders", long_lived());
        // At any time since the last renewal.
        EXPECT_FALSE(await([&] { return !hold.held(); }, round * lease / 6));
        const auto cut = Clock::now();
        network().black_hole();
        ASSERT_TRUE(await([&] { return hold.lost().stop_requested(); }));
        EXPECT_LT(Clock::now() - cut, lease);
        EXPECT_FALSE(next.is_over()) << "it is told before another one can be in";
        EXPECT_FALSE(hold.held());
        auto rivals = next.get();
        EXPECT_EQ(hold.loss(), Loss::overdue);
        EXPECT_GT(rivals.fence(), hold.fence());
        EXPECT_EQ(hold.release(), Released::unknown);
        network().pass();
        EXPECT_EQ(holders(), std::vector{rivals.fence()});
        EXPECT_EQ(rivals.release(), Released::in_time);
    }
    expect_free();
}

TEST_P(Connections, RequestsIntoABlackHoleEndInTheirTimeLimit) {
    const Client ours = client(impatient);
    expect_works(ours);
    network().black_hole();
    const auto start = Clock::now();
    std::atomic<int> failed{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 32; ++i) {
            threads.emplace_back([&, i] {
                auto mutex = ours.mutex("other/" + std::to_string(i), long_lived());
                if (error_of([&] { return mutex.acquire(); }).code() == errc::unreachable) ++failed;
            });
        }
    }
    EXPECT_EQ(failed, 32);
    EXPECT_LT(Clock::now() - start, 5s);
    // Now everything arrives, late.
    network().pass();
    EXPECT_TRUE(await([&] {
        try {
            ours.mutex("other", long_lived()).acquire().release();
            return true;
        } catch (const Error&) {
            return false;
        }
    }));
    expect_works(ours);
}

TEST_P(Connections, AWaiterBehindABlackHoleIsToldAfterItsLease) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    const Client ours = client(impatient);
    Acquiring waiting(ours, "orders", {.lease = 2 * GetParam().brief});
    ASSERT_TRUE(await_waits(1));
    network().black_hole();
    const Error error = error_of([&] { return waiting.get(); });
    EXPECT_EQ(error.code(), errc::unreachable) << error.what();
    EXPECT_TRUE(await_waiters(0));
    network().pass();
    EXPECT_TRUE(holder.held());
    holder.release();
    expect_free();
}

TEST_P(Connections, ThatAreSilentDelayReleaseAndEndOfAClientForAMoment) {
    std::optional<Client> ours = client(impatient);
    auto hold = std::optional(ours->mutex("orders", brief()).acquire());
    network().black_hole();
    auto start = Clock::now();
    EXPECT_NE(hold->release(), Released::in_time);
    EXPECT_LT(Clock::now() - start, 4s) << "no longer than the lease lasts";
    hold.reset();
    start = Clock::now();
    ours.reset();
    EXPECT_LT(Clock::now() - start, 2s);
}

// --- half of a connection, or a dead one ---

TEST_P(Connections, ThatAreHalfClosedAreReplaced) {
    const Client ours = client();
    expect_works(ours);
    network().half_close();
    expect_works(ours);
}

TEST_P(Connections, ThatAreHalfClosedAmidARequestMakeOneContender) {
    const Client ours = client();
    std::atomic<int> seen{0};
    network().on_request([&](auto request) {
        if (site_->is(SeenVerb::enter, request) && ++seen == 1) network().half_close();
        return Verdict::pass;
    });
    {
        const auto hold = ours.mutex("orders", long_lived()).acquire();
        EXPECT_GE(seen, GetParam().takes_late_requests ? 2 : 1);
        EXPECT_EQ(holders(), std::vector{hold.fence()});
        network().pass();
    }
    expect_free();
}

TEST_P(Connections, ThatAreResetAreReplaced) {
    const Client ours = client();
    for (int i = 0; i < 10; ++i) {
        network().cut(i % 2 == 0 ? Ending::reset : Ending::fin);
        auto hold = ours.mutex("orders", long_lived()).acquire();
        network().cut(i % 2 == 0 ? Ending::fin : Ending::reset);
        EXPECT_NE(hold.release(), Released::too_late);
    }
    expect_free();
}

TEST_P(Connections, ThatAreCutAgainAndAgainCostNoHold) {
    const Client ours = client();
    auto hold = ours.mutex("orders", {.lease = 2 * GetParam().brief}).acquire();
    const auto end = Clock::now() + 3 * GetParam().brief;
    for (int i = 0; Clock::now() < end; ++i) {
        network().cut(i % 2 == 0 ? Ending::fin : Ending::reset);
        EXPECT_FALSE(await([&] { return !hold.held(); }, 400ms));
        EXPECT_EQ(holders(), std::vector{hold.fence()});
    }
    EXPECT_EQ(hold.loss(), Loss::none);
    EXPECT_NE(hold.release(), Released::too_late);
    expect_free();
}

TEST_P(Connections, ThatTheServerEndsCostAWaiterALookAndNotItsPlace) {
    auto holder = rival().mutex("orders", long_lived()).acquire();
    const Client ours = client();
    Acquiring waiting(ours, "orders", long_lived());
    ASSERT_TRUE(await_waits(1));
    site_->end_sessions();
    holder.release();
    EXPECT_TRUE(waiting.is_over(15s)) << "its renewal comes after a third of a minute";
    waiting.get().release();
    expect_free();
}

TEST_P(Connections, ThatAreSilentlyDeadAreReplacedThoughThereIsNoOtherAddress) {
    const Client ours = client("connect_timeout=1s&request_timeout=2s");
    auto hold = ours.mutex("held", {.lease = 10s}).acquire();
    for (int round = 0; round < 3; ++round) {
        // Nothing more arrives that is sent on the connection that is used next.
        network().on_request([first = std::make_shared<bool>(true)](auto) {
            return std::exchange(*first, false) ? Verdict::hold : Verdict::pass;
        });
        const auto start = Clock::now();
        const auto works = [&] {
            try {
                return ours.mutex("orders", long_lived()).acquire().held();
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), errc::unreachable) << error.what();
                return false;
            }
        };
        EXPECT_TRUE(await(works)) << round;
        EXPECT_LT(Clock::now() - start, 7s) << round;
        EXPECT_TRUE(hold.held());
    }
    EXPECT_FALSE(await([&] { return !hold.held(); }, 4s)) << "it is renewed on the next one";
}

// --- pushes ---

class LostPushes : public Connections {};
HOLDFAST_AT_SITES(LostPushes, &StoreAtSite::pushes);

TEST_P(LostPushes, AreMadeUpForByTheRenewal) {
    const auto lease = 6s;
    auto holder = rival().mutex("orders", long_lived()).acquire();
    const Client ours = client();
    network().lose_pushes();
    Acquiring waiting(ours, "orders", {.lease = lease});
    ASSERT_TRUE(await_waits(1));
    ASSERT_TRUE(await_waiters(1));
    const auto released = Clock::now();
    holder.release();
    waiting.get().release();
    EXPECT_LT(Clock::now() - released, lease / 2 + 1s) << "a third of it, and not the whole";
    expect_free();
}

// --- another kind of server ---

/// It answers everybody the same.
class OtherServer {
public:
    explicit OtherServer(std::string answer) : answer_(std::move(answer)) {}
    int port() const { return port_.number(); }

private:
    void serve(const std::stop_token& ends) const {
        std::vector<Socket> taken;
        while (!ends.stop_requested()) {
            taken.push_back(accept_from(listener_));
            if (taken.back()) {
                send_all(taken.back(), answer_);
            } else {
                taken.pop_back();
                std::this_thread::sleep_for(5ms);
            }
        }
    }

    const std::string answer_;
    const LoopbackPort port_;
    const Socket listener_ = listen_on(port_.number());
    std::jthread thread_{[this](const std::stop_token& ends) { serve(ends); }};
};

class OtherServers : public Connections {};
HOLDFAST_AT_SITES(OtherServers, &StoreAtSite::knows_its_like);

TEST_P(OtherServers, AreToldAtOnce) {
    using namespace std::string_literals;
    for (const std::string& answer : {"HTTP/1.1 400 Bad Request\r\n\r\n"s,
                                      "SSH-2.0-OpenSSH_9.2\r\n"s, "\x15\x03\x03\0\2\2\x46"s}) {
        SCOPED_TRACE(testing::PrintToString(answer));
        const OtherServer other(answer);
        const std::string at = "127.0.0.1:" + std::to_string(other.port());
        const auto start = Clock::now();
        const std::string url = site_->url_at(at);
        const Error error = error_of([&] {
            const char mark = url.find('?') == std::string::npos ? '?' : '&';
            return connect(url + mark + "request_timeout=60s");
        });
        EXPECT_LT(Clock::now() - start, 20s) << "trying again mends nothing";
        EXPECT_TRUE(error.code() == errc::unreachable || error.code() == errc::bad_configuration)
            << error.what();
        EXPECT_EQ(error.effect(), Effect::none) << error.what();
        expect_says(error, at);
        expect_says(error, "protocol");
    }
}

}  // namespace
}  // namespace holdfast::test
