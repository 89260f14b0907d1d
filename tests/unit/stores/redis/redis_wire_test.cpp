#include "stores/redis/redis_wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "faults/lying_servers.hpp"
#include "port/pending.hpp"
#include "servers/redis_server.hpp"
#include "stores/redis/layout.hpp"
#include "support/await.hpp"
#include "support/fault_proxy.hpp"
#include "support/sanitized.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using test::await;
using test::FaultProxy;
using test::RedisOptions;
using test::RedisServer;

Address address_at(int port) {
    Address address;
    address.host = "127.0.0.1";
    address.port = static_cast<std::uint16_t>(port);
    return address;
}
Address quick(Address address, std::chrono::milliseconds limit = 300ms) {
    address.connect_timeout = limit;
    address.request_timeout = limit;
    return address;
}

Pending<Reply> send(RedisWire& wire, Command command) {
    const auto flight = std::make_shared<Flight<Reply>>(wire);
    wire.submit(std::move(command),
                [flight](Answer answer) { flight->complete(std::move(answer.result)); });
    return Pending<Reply>(flight);
}

Result<Reply> ask(RedisWire& wire, Command command) {
    return send(wire, std::move(command)).get();
}

/// The processor time of this process: what stands still uses none.
std::chrono::nanoseconds busy_time() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

constexpr std::chrono::nanoseconds next_to_nothing = test::sanitized ? 1s : 150ms;

/// Whether the second connection was heard, or lost.
struct Ear final : RedisWire::Listener {
    void missed() override { ++times_missed; }
    void pushed(const Reply&) override { ++messages; }
    std::atomic<int> times_missed{0};
    std::atomic<int> messages{0};
};

/// A node of a cluster whose slots are moving: it has them, or gets them.
class MovingNode final : public test::Liar {
public:
    MovingNode() { start(); }
    ~MovingNode() { stop(); }

    void map(int master_port, const std::string& gets_them) {
        const std::lock_guard guard(mutex_);
        master_port_ = master_port;
        gets_them_ = gets_them;
    }
    std::vector<std::string> served() const {
        const std::lock_guard guard(mutex_);
        return served_;
    }

private:
    std::string answer_to(const test::Resp& request) override {
        const std::lock_guard guard(mutex_);
        const std::string& verb = request.parts.at(0).text;
        if (verb == "CLUSTER") return about_cluster(request.parts.at(1).text);
        if (verb != "INCR") return "+OK\r\n";
        if (master_port_ != port()) {
            served_.push_back(request.parts.at(1).text);
            return ":1\r\n";
        }
        // The first that comes finds some of its keys here, all others none.
        if (is_first_) {
            is_first_ = false;
            return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
        }
        return "-ASK 1 " + gets_them_ + "\r\n";
    }
    std::string about_cluster(const std::string& what) const {
        const auto bulk = [](const std::string& text) {
            return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
        };
        const std::string number(40, 'a');
        const std::string port = std::to_string(master_port_);
        if (what == "INFO") return bulk("cluster_current_epoch:1");
        if (what == "NODES") {
            return bulk(number + " 127.0.0.1:" + port + "@0 master - 0 0 1 connected 0-16383\n");
        }
        return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n" + bulk("127.0.0.1") + ":" + port + "\r\n" +
               bulk(number);
    }

    int master_port_ = 0;
    std::string gets_them_;
    bool is_first_ = true;
    std::vector<std::string> served_;
};

/// Somebody who leads until told otherwise.
class Leader {
public:
    explicit Leader(RedisWire& wire) : wire_(wire), thread_([this] { wire_.wait(waiter_); }) {}
    ~Leader() { wire_.signal(waiter_); }

private:
    RedisWire& wire_;
    Wire::Waiter waiter_;
    std::jthread thread_;
};

class ARedisWire : public testing::Test {
protected:
    RedisServer server_;
    FaultProxy proxy_{server_.port()};
};

TEST_F(ARedisWire, AnswersWhatWasSubmittedBeforeItIsConnected) {
    RedisWire wire(address_at(server_.port()), {});
    std::vector<Pending<Reply>> pending;
    for (int i = 0; i < 100; ++i) pending.push_back(send(wire, {"ECHO", std::to_string(i)}));
    for (int i = 0; i < 100; ++i) {
        const auto answer = std::move(pending[static_cast<std::size_t>(i)]).get();
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer.value().text, std::to_string(i));
    }
}

TEST_F(ARedisWire, CallsBackWhileNobodyIsBlocked) {
    RedisWire wire(address_at(server_.port()), {});
    std::promise<bool> called;
    send(wire, {"PING"}).then([&](const Result<Reply>& answer) { called.set_value(answer.ok()); });
    EXPECT_TRUE(called.get_future().get());
}

TEST_F(ARedisWire, AnswersManyThreadsByOneConnection) {
    RedisWire wire(address_at(proxy_.port()), {});
    std::atomic<int> right{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 16; ++i) {
            threads.emplace_back([&, i] {
                for (int round = 0; round < 200; ++round) {
                    const auto word = std::to_string(1000 * i + round);
                    const auto answer = ask(wire, {"ECHO", word});
                    if (answer.ok() && answer.value().text == word) ++right;
                }
            });
        }
    }
    EXPECT_EQ(right, 16 * 200);
    EXPECT_EQ(proxy_.connections(), 1U);
}

// --- requests that one script carries out together ---

class Overlapping : public ARedisWire {
protected:
    static constexpr std::size_t count = 40;

    std::vector<Contender> contenders() const {
        std::vector<Contender> found(count);
        for (std::size_t i = 0; i < count; ++i) {
            found[i].resource = "orders/" + std::to_string(i);
            found[i].nonce.bytes[0] = static_cast<std::byte>(i);
            found[i].lease = 10min;
        }
        return found;
    }
    /// All of them are there before it connects.
    std::vector<Result<Reply>> answers_to(std::vector<Command> commands) const {
        RedisWire wire(address_at(server_.port()), {});
        std::vector<Pending<Reply>> pending;
        for (Command& command : commands) pending.push_back(send(wire, std::move(command)));
        std::vector<Result<Reply>> answers;
        for (auto& one : pending) answers.push_back(std::move(one).get());
        return answers;
    }
    std::vector<Result<Reply>> enter(const std::vector<Contender>& all) const {
        std::vector<Command> commands;
        for (const Contender& one : all) commands.push_back(layout_->enter({&one, 1}));
        return answers_to(std::move(commands));
    }
    std::vector<Result<Reply>> leave(const std::vector<Contender>& all) const {
        std::vector<Command> commands;
        for (const Contender& one : all) {
            commands.push_back(layout_->leave({one.resource, one.nonce, {}}, 0ms));
        }
        return answers_to(std::move(commands));
    }
    static bool is_admitted(const Result<Reply>& answer) {
        return answer.ok() && answer.value().kind == Reply::Kind::integer &&
               answer.value().integer > 0;
    }
    /// How often a script was run since the last reset.
    long scripts_run() const {
        const std::string all = server_.command({"INFO", "commandstats"});
        long calls = 0;
        for (const std::string name :
             {"cmdstat_fcall:calls=", "cmdstat_eval:calls=", "cmdstat_evalsha:calls="}) {
            const auto at = all.find(name);
            if (at != std::string::npos) calls += std::stol(all.substr(at + name.size()));
        }
        return calls;
    }

    const std::unique_ptr<Layout> layout_ = holdfast_layout();
};

TEST_F(Overlapping, RequestsAreAFewForTheServerAndAnsweredApart) {
    // The first ones find out that the server does not know the script.
    enter(contenders());
    leave(contenders());
    server_.command({"CONFIG", "RESETSTAT"});
    EXPECT_TRUE(std::ranges::all_of(enter(contenders()), is_admitted));
    EXPECT_EQ(scripts_run(), 2) << "32 of them at most are one";
    EXPECT_TRUE(std::ranges::all_of(leave(contenders()), is_admitted));
    EXPECT_EQ(scripts_run(), 4);
}

TEST_F(Overlapping, RequestsFailApart) {
    server_.command({"SADD", layout_->key_of("orders/7"), "another's"});
    const auto answers = enter(contenders());
    EXPECT_EQ(std::ranges::count_if(answers, is_admitted), count - 1);
    ASSERT_FALSE(answers[7].ok());
    EXPECT_EQ(answers[7].failure().code, errc::corrupt) << answers[7].failure().sentence;
    EXPECT_EQ(answers[7].failure().effect, Effect::none);
}

TEST_F(Overlapping, RequestsThatTheServerRefusesTogetherAreServedOneByOne) {
    ASSERT_TRUE(std::ranges::all_of(enter(contenders()), is_admitted));
    server_.command({"CONFIG", "SET", "maxmemory", "1"});
    const auto refused = enter({contenders()[0], contenders()[1]});
    for (const auto& answer : refused) {
        ASSERT_FALSE(answer.ok());
        EXPECT_EQ(answer.failure().effect, Effect::none) << answer.failure().sentence;
    }
    // Without memory, only who leaves is served, and only alone.
    EXPECT_TRUE(std::ranges::all_of(leave(contenders()), is_admitted));
}

TEST_F(Overlapping, RequestsForOneResourceStandInLineInTheirOrder) {
    auto all = contenders();
    for (Contender& one : all) one.resource = "orders";
    const auto answers = enter(all);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(answers[i].ok()) << answers[i].failure().sentence;
        // The first is admitted at once, and answered its fence alone.
        if (i == 0) continue;
        ASSERT_GE(answers[i].value().elements.size(), 2U);
        EXPECT_EQ(answers[i].value().elements[1].integer, static_cast<std::int64_t>(i) + 1);
    }
}

TEST_F(ARedisWire, TakesRequestsAndAnswersLargerThanAnyBuffer) {
    RedisWire wire(address_at(server_.port()), {});
    const std::string large(5'000'000, 'x');
    auto first = send(wire, {"ECHO", large});
    auto second = send(wire, {"ECHO", "small"});
    const auto answer = std::move(first).get();
    ASSERT_TRUE(answer.ok()) << answer.failure().sentence;
    EXPECT_EQ(answer.value().text, large);
    EXPECT_EQ(std::move(second).get().value().text, "small");
}

TEST_F(ARedisWire, WaitsWithoutWorkWhileTheSocketIsFull) {
    RedisWire wire(quick(address_at(server_.port()), 2s), {});
    ASSERT_TRUE(ask(wire, {"PING"}).ok());
    server_.pause();
    const auto before = busy_time();
    const auto answer = ask(wire, {"ECHO", std::string(5'000'000, 'x')});
    EXPECT_FALSE(answer.ok());
    EXPECT_LT(busy_time() - before, next_to_nothing);
    server_.resume();
}

TEST_F(ARedisWire, WaitsWithoutWorkForAPongThatDoesNotCome) {
    RedisWire wire(quick(address_at(server_.port()), 3s), {.channel = "news"});
    const auto ear = std::make_shared<Ear>();
    wire.listen(ear);
    const Leader leader(wire);
    ASSERT_TRUE(await([&] { return wire.listening() != 0; }));
    server_.pause();
    std::this_thread::sleep_for(2s);  // until it asks whether the server is there
    const auto before = busy_time();
    ASSERT_TRUE(await([&] { return wire.listening() == 0; }));
    EXPECT_LT(busy_time() - before, next_to_nothing);
    server_.resume();
    EXPECT_TRUE(await([&] { return wire.listening() != 0; }));
}

TEST_F(ARedisWire, TriesAgainSoonWhatTheServerIsTooBusyFor) {
    RedisWire wire(address_at(proxy_.port()), {});
    ASSERT_TRUE(ask(wire, {"PING"}).ok());
    proxy_.garbage("-LOADING Redis is loading the dataset in memory\r\n");
    const auto before = BootClock::now();
    const auto answer = ask(wire, {"ECHO", "later"});
    ASSERT_TRUE(answer.ok()) << answer.failure().sentence;
    EXPECT_EQ(answer.value().text, "later");
    EXPECT_LT(BootClock::now() - before, 1s);
}

TEST_F(ARedisWire, GivesUpOnABlackHoleInTimeAndComesBackAfterwards) {
    RedisWire wire(quick(address_at(proxy_.port())), {});
    ASSERT_TRUE(ask(wire, {"PING"}).ok());
    proxy_.black_hole();
    const auto before = BootClock::now();
    const auto answer = ask(wire, {"PING"});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.failure().effect, Effect::unknown);
    EXPECT_GE(BootClock::now() - before, 300ms);
    EXPECT_LT(BootClock::now() - before, 900ms);
    proxy_.pass();
    EXPECT_TRUE(await([&] { return ask(wire, {"PING"}).ok(); }));
}

TEST_F(ARedisWire, SaysThatWhatWasNeverSentHadNoEffect) {
    proxy_.refuse();
    RedisWire wire(quick(address_at(proxy_.port())), {});
    const auto answer = ask(wire, {"PING"});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.failure().effect, Effect::none);
    EXPECT_THAT(answer.failure().sentence, testing::HasSubstr("refused")) << "the reason";
}

TEST_F(ARedisWire, DoesNotHammerAServerThatRefuses) {
    RedisWire wire(quick(address_at(proxy_.port()), 2s), {});
    // Each connection is taken and cut at its first request.
    proxy_.on_request([](std::string_view) { return test::Verdict::cut_before; });
    EXPECT_FALSE(ask(wire, {"PING"}).ok());
    EXPECT_GE(proxy_.connections(), 4U);
    EXPECT_LE(proxy_.connections(), 15U) << "5 ms, 10, 20, ... up to a second, and jitter";
}

TEST_F(ARedisWire, SendsAgainWhatALostConnectionLeftUnanswered) {
    RedisWire wire(address_at(proxy_.port()), {});
    ASSERT_TRUE(ask(wire, {"SET", "count", "0"}).ok());
    proxy_.drop_replies(1);
    const auto answered = std::make_shared<std::promise<Answer>>();
    wire.submit({"INCR", "count"}, [answered](Answer answer) { answered->set_value(answer); });
    EXPECT_TRUE(ask(wire, {"PING"}).ok());
    const auto answer = answered->get_future().get();
    ASSERT_TRUE(answer.result.ok());
    EXPECT_EQ(answer.result.value().integer, 2);
    EXPECT_TRUE(answer.repeated);
}

TEST_F(ARedisWire, AnswersEachRequestOnceWhenTheServerIsKilledUnderLoad) {
    RedisWire wire(quick(address_at(server_.port()), 500ms), {.channel = "news"});
    wire.listen(std::make_shared<Ear>());
    constexpr int threads = 16;
    std::atomic<bool> over{false};
    std::atomic<int> sent{0};
    std::atomic<int> answered{0};
    std::atomic<int> twice{0};
    {
        std::vector<std::jthread> many;
        for (int i = 0; i < threads; ++i) {
            many.emplace_back([&] {
                while (!over) {
                    Wire::Waiter waiter;
                    std::atomic<int> times{0};
                    ++sent;
                    wire.submit({"ECHO", "x"}, [&](const Answer&) {
                        if (++times > 1) ++twice;
                        ++answered;
                        wire.signal(waiter);
                    });
                    ASSERT_TRUE(wire.wait(waiter, BootClock::now() + test::patience));
                }
            });
        }
        for (int i = 0; i < 5; ++i) {
            const int before = answered;
            ASSERT_TRUE(await([&] { return answered > before + 200; }));
            server_.kill();
            server_.restart();
        }
        over = true;
    }
    EXPECT_EQ(answered, sent);
    EXPECT_EQ(twice, 0);
}

TEST_F(ARedisWire, MayBeDestroyedWithRequestsInFlight) {
    for (int i = 0; i < 20; ++i) {
        const auto told = std::make_shared<std::atomic<int>>(0);
        {
            RedisWire wire(address_at(proxy_.port()), {.channel = "news"});
            wire.listen(std::make_shared<Ear>());
            if (i % 2 == 0) {
                ASSERT_TRUE(ask(wire, {"PING"}).ok());
                proxy_.hold_requests();
            }
            for (int j = 0; j < 10; ++j) {
                send(wire, {"PING"}).then([told](const Result<Reply>&) { ++*told; });
            }
        }
        proxy_.pass();
        EXPECT_LE(*told, 10);
    }
}

TEST_F(ARedisWire, HearsAgainAfterItsSecondConnectionWasKilled) {
    RedisWire wire(address_at(server_.port()), {.channel = "news"});
    const auto ear = std::make_shared<Ear>();
    wire.listen(ear);
    const Leader leader(wire);
    ASSERT_TRUE(await([&] { return wire.listening() != 0; }));
    const auto period = wire.listening();
    server_.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(await([&] { return wire.listening() > period; }));
    EXPECT_GE(ear->times_missed, 2) << "when it was heard first, and again";
    server_.command({"PUBLISH", "news", "x"});
    EXPECT_TRUE(await([&] { return ear->messages > 0; }));
}

/// A wire whose reads are tracked, and that has read `key`.
class TrackedReads : public ARedisWire {
protected:
    RedisWire wire_{quick(address_at(server_.port()), 3s),
                    {.channel = "__redis__:invalidate", .tracked = true}};
    std::shared_ptr<Ear> ear_ = std::make_shared<Ear>();

    void SetUp() override {
        wire_.listen(ear_);
        // The second connection is made while somebody waits.
        ASSERT_TRUE(await([&] { return ask(wire_, {"PING"}).ok() && wire_.listening() != 0; }));
    }
    bool is_told() {
        if (!ask(wire_, {"GET", "key"}).ok()) return false;
        const int before = ear_->messages;
        server_.command({"SET", "key", "value"});
        return await([&] { return ask(wire_, {"PING"}).ok() && ear_->messages > before; }, 5s);
    }
};

TEST_F(TrackedReads, AreToldOfByTheOtherConnection) {
    EXPECT_TRUE(is_told());
}

TEST_F(TrackedReads, AreTrackedAgainOnANewConnection) {
    const auto period = wire_.listening();
    server_.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(await([&] { return ask(wire_, {"PING"}).ok(); }));
    EXPECT_TRUE(is_told());
    EXPECT_NE(wire_.listening(), period) << "what was read before is tracked no more";
}

TEST_F(TrackedReads, AreToldToANewSecondConnection) {
    const auto period = wire_.listening();
    server_.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(await([&] { return ask(wire_, {"PING"}).ok() && wire_.listening() > period; }));
    EXPECT_TRUE(is_told());
}

TEST_F(TrackedReads, AreTrackedAgainWhenBothConnectionsAreLostAtOnce) {
    for (int i = 0; i < 10; ++i) {
        const auto period = wire_.listening();
        server_.kill();
        server_.restart();
        ASSERT_TRUE(await([&] { return ask(wire_, {"PING"}).ok() && wire_.listening() > period; }));
        EXPECT_TRUE(is_told()) << "round " << i;
    }
}

TEST(AMovingSlot, LetsNobodyPassThoseWhoCameBefore) {
    MovingNode has;
    MovingNode gets;
    has.map(has.port(), gets.address());
    gets.map(has.port(), gets.address());
    Servers servers{.kind = Servers::Kind::cluster, .named = {quick(address_at(has.port()), 3s)}};
    servers.node = servers.named.front();
    RedisWire wire(servers, {});
    // The first is told to wait a little, and the second at once where to go.
    auto first = send(wire, {"INCR", "{orders}first"});
    auto second = send(wire, {"INCR", "{orders}second"});
    EXPECT_TRUE(std::move(first).get().ok());
    EXPECT_TRUE(std::move(second).get().ok());
    EXPECT_EQ(gets.served(), (std::vector<std::string>{"{orders}first", "{orders}second"}));
}

}  // namespace
}  // namespace holdfast::redis
