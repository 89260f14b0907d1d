#include "stores/redis/redis_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "port/store_url.hpp"
#include "servers/redis_server.hpp"
#include "support/await.hpp"
#include "support/fault_proxy.hpp"
#include "support/resp.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using test::await;
using test::FaultProxy;
using test::RedisServer;
using test::Verdict;
using State = Standing::State;

std::shared_ptr<Store> open(const std::string& url) {
    return open_redis(parse_store_url(url));
}

Contender contender(std::string name, std::chrono::milliseconds lease = 30s) {
    static std::atomic<unsigned> count{0};
    Nonce nonce;
    const unsigned number = ++count;
    nonce.bytes[0] = static_cast<std::byte>(number);
    nonce.bytes[1] = static_cast<std::byte>(number >> 8U);
    return {.resource = std::move(name), .nonce = nonce, .owner = "somebody", .lease = lease};
}

Entry enter(Store& store, const Contender& one) {
    auto entries = store.enter({&one, 1}).get();
    if (!entries.ok()) {
        ADD_FAILURE() << entries.failure().sentence;
        return {};
    }
    return entries.value().front();
}

Standing renew(Store& store, const Ticket& ticket) {
    auto standings = store.renew({&ticket, 1}, 30s).get();
    if (!standings.ok()) {
        ADD_FAILURE() << standings.failure().sentence;
        return {};
    }
    return standings.value().front();
}

/// What a watch was told. Lives in a shared pointer, for callbacks outlive a failed test.
struct Heard {
    std::atomic<int> times{0};
    std::atomic<State> last{State::gone};
};
LineMoved hearing(const std::shared_ptr<Heard>& heard) {
    return [heard](const Standing& standing) {
        heard->last = standing.state;
        ++heard->times;
    };
}

bool runs_a_script(std::string_view request) {
    const auto words = test::words_of(request);
    return words[0] == "FCALL";
}

/// A copy of a request that the network delivers late.
class LateCopy {
public:
    explicit LateCopy(FaultProxy& proxy) : proxy_(proxy) {
        proxy_.on_request([this](std::string_view request) {
            const bool held = runs_a_script(request) && !taken_.exchange(true);
            return held ? Verdict::hold : Verdict::pass;
        });
    }
    /// The client's connection breaks, so that it sends another one.
    void lose_connection() {
        ASSERT_TRUE(await([&] { return taken_.load(); }));
        proxy_.cut();
    }
    /// Returns when the server has carried it out.
    void deliver(const RedisServer& server) {
        const auto scripts = scripts_run(server);
        proxy_.let_pass();
        ASSERT_TRUE(await([&] { return scripts_run(server) > scripts; }));
    }

private:
    static unsigned long scripts_run(const RedisServer& server) {
        const auto text = server.command({"INFO", "commandstats"});
        const std::string before = "cmdstat_fcall:calls=";
        const auto at = text.find(before);
        return at == std::string::npos ? 0 : std::stoul(text.substr(at + before.size()));
    }

    FaultProxy& proxy_;
    std::atomic<bool> taken_{false};
};

class ARedisStore : public testing::TestWithParam<std::string> {
protected:
    std::string layout() const { return "?layout=" + GetParam(); }
    /// Whether nobody is there.
    bool is_free(const std::string& resource) {
        const auto lines = near_->inspect(resource).get();
        return lines.ok() && std::ranges::none_of(lines.value(), [&](const Line& line) {
                   return line.resource == resource;
               });
    }

    RedisServer server_;
    FaultProxy proxy_{server_.port()};
    std::shared_ptr<Store> near_ = open(server_.url() + layout());
    std::shared_ptr<Store> far_ = open(proxy_.url() + layout());
};
INSTANTIATE_TEST_SUITE_P(EveryLayout, ARedisStore, testing::Values("holdfast", "plain", "redisson"),
                         [](const auto& about) { return about.param; });

TEST_P(ARedisStore, AnswersARenewalOfManyResourcesOnceWhoeverReadsTheAnswers) {
    constexpr int threads = 8;
    constexpr int resources = 40;
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> many;
        for (int i = 0; i < threads; ++i) {
            many.emplace_back([&, i] {
                std::vector<Ticket> tickets;
                for (int j = 0; j < resources; ++j) {
                    const auto name = "r" + std::to_string(i) + "/" + std::to_string(j);
                    tickets.push_back(enter(*near_, contender(name)).ticket);
                }
                for (int round = 0; round < 30; ++round) {
                    const auto result = near_->renew(tickets, 30s).get();
                    if (!result.ok() || result.value().size() != tickets.size()) ++wrong;
                    for (const Standing& standing : result.value()) {
                        if (standing.state != State::admitted) ++wrong;
                    }
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0);
}

TEST_P(ARedisStore, ListsManyResourcesWhoeverReadsTheAnswers) {
    for (int i = 0; i < 50; ++i) enter(*near_, contender("r" + std::to_string(i)));
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> many;
        for (int i = 0; i < 4; ++i) {
            many.emplace_back([&] {
                for (int round = 0; round < 20; ++round) {
                    const auto lines = near_->inspect("r").get();
                    if (!lines.ok() || lines.value().size() != 50) ++wrong;
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0);
}

/// Whoever leads reads the answers of others, and may have no memory for them.
TEST_P(ARedisStore, AnswersWhoeverWaitsWhicheverAllocationOfWhoeverLeadsFails) {
    const Contender one = contender("orders");
    const Ticket ticket{one.resource, one.nonce, "x"};
    const auto why_not = [](const auto& result) {
        return result.ok() ? std::string() : result.failure().sentence;
    };
    const auto limit = [] { return BootClock::now() + 5s; };
    const std::vector<std::function<std::string()>> verbs{
        [&] {
            return why_not(near_->enter({&one, 1}).get(limit()));
        },
        [&] { return why_not(near_->standing(ticket).get(limit())); },
        [&] {
            return why_not(near_->renew({&ticket, 1}, 30s).get(limit()));
        },
        [&] { return why_not(near_->inspect("o").get(limit())); },
        [&] { return why_not(near_->leave(ticket).get(limit())); },
    };
    std::size_t failed = 0;
    for (std::size_t number = 1; number <= 25; ++number) {
        for (std::size_t verb = 0; verb < verbs.size(); ++verb) {
            Wire::Waiter leader;
            auto told = std::async(std::launch::async, [&] {
                auto sentence = verbs[verb]();
                near_->wire().signal(leader);
                return sentence;
            });
            test::ScarceMemory scarce(number);
            bool is_over = false;
            while (!is_over) scarce.run([&] { is_over = near_->wire().wait(leader); });
            EXPECT_NE(told.get(), "no answer in time") << "verb " << verb << ", " << number;
            failed += scarce.has_failed() ? 1 : 0;
        }
    }
    EXPECT_GT(failed, verbs.size()) << "hardly any was made";
}

TEST_P(ARedisStore, MayBeDroppedByACallbackWhileItLists) {
    for (int i = 0; i < 20; ++i) {
        auto store = open(proxy_.url() + layout());
        const auto holder = enter(*store, contender("held" + std::to_string(i)));
        proxy_.hold_requests();
        const auto dropped = std::make_shared<std::promise<void>>();
        auto pending = store->standing(holder.ticket);
        auto listed = store->inspect("held");
        std::weak_ptr<Store> gone = store;
        std::move(listed).then([](const Result<std::vector<Line>>&) {});
        std::move(pending).then([last = std::make_shared<std::shared_ptr<Store>>(std::move(store)),
                                 dropped](const Result<Standing>&) {
            last->reset();
            dropped->set_value();
        });
        proxy_.pass();
        dropped->get_future().get();
        EXPECT_TRUE(await([&] { return gone.expired(); }));
    }
}

TEST_P(ARedisStore, ALateCopyOfAnEnterThatWasRefusedTakesNothing) {
    const auto held = enter(*near_, contender("r"));
    LateCopy late(proxy_);
    Contender impatient = contender("r");
    impatient.patience = Patience::none;
    auto entering = std::async([&] { return enter(*far_, impatient); });
    late.lose_connection();
    EXPECT_EQ(entering.get().standing.state, State::gone);
    // It may have something to put right first.
    ASSERT_TRUE(far_->inspect("r").get().ok());
    ASSERT_TRUE(near_->leave(held.ticket).get().ok());
    late.deliver(server_);
    EXPECT_TRUE(is_free("r"));
}

TEST_P(ARedisStore, ALateCopyOfAnEnterThatIsOverTakesNothing) {
    LateCopy late(proxy_);
    auto entering = std::async([&] { return enter(*far_, contender("r")); });
    late.lose_connection();
    const Entry entry = entering.get();
    EXPECT_EQ(entry.standing.state, State::admitted);
    ASSERT_TRUE(far_->leave(entry.ticket).get().ok());
    late.deliver(server_);
    EXPECT_TRUE(is_free("r"));
}

TEST_P(ARedisStore, ALateCopyOfAWaitersRenewalTakesNothing) {
    const auto held = enter(*near_, contender("r"));
    const auto waiting = enter(*far_, contender("r"));
    ASSERT_EQ(waiting.standing.state, State::waiting);
    LateCopy late(proxy_);
    ASSERT_TRUE(near_->leave(held.ticket).get().ok());
    auto claiming = std::async([&] { return renew(*far_, waiting.ticket); });
    late.lose_connection();
    EXPECT_EQ(claiming.get().state, State::admitted);
    ASSERT_TRUE(far_->leave(waiting.ticket).get().ok());
    late.deliver(server_);
    EXPECT_TRUE(is_free("r"));
}

TEST_P(ARedisStore, AWaiterThatIsOverIsInNobodysWay) {
    const auto interest = near_->wire().interest();
    const auto held = enter(*near_, contender("r"));
    for (const bool asks : {true, false}) {
        const auto brief = enter(*near_, contender("r", 50ms));
        EXPECT_TRUE(await([&] {
            const Standing standing = asks ? near_->standing(brief.ticket).get().value()
                                           : near_->renew({&brief.ticket, 1}, 1ms).get().value()[0];
            return standing.state == State::gone;
        }));
    }
    const auto next = enter(*near_, contender("r"));
    const auto heard = std::make_shared<Heard>();
    const auto watch = near_->watch(next.ticket, hearing(heard));
    // It is asked for once it is heard.
    EXPECT_TRUE(await([&] { return heard->times > 0; }));
    ASSERT_TRUE(near_->leave(held.ticket).get().ok());
    EXPECT_TRUE(await([&] { return heard->last == State::offered; }, 5s));
}

TEST_P(ARedisStore, AWaiterThatCannotBeAskedForIsToldToLook) {
    const auto held = enter(*near_, contender("r"));
    const auto far = open(proxy_.url() + layout() + "&request_timeout=200ms&connect_timeout=200ms");
    const auto first = enter(*far, contender("r"));
    const auto waiting = enter(*far, contender("r"));
    const auto interest = far->wire().interest();
    proxy_.black_hole();
    const auto heard = std::make_shared<Heard>();
    const auto watch = far->watch(waiting.ticket, hearing(heard));
    EXPECT_TRUE(await([&] { return heard->times > 0 && heard->last == State::waiting; }, 5s));
    proxy_.pass();
}

TEST_P(ARedisStore, MayBeDestroyedWithRequestsInFlight) {
    for (int i = 0; i < 10; ++i) {
        const auto store = open(proxy_.url() + layout());
        const auto held = enter(*store, contender("r" + std::to_string(i)));
        const auto waiting = enter(*store, contender("r" + std::to_string(i)));
        const auto watch = store->watch(waiting.ticket, [](const Standing&) {});
        proxy_.hold_requests();
        store->renew({&held.ticket, 1}, 30s).then([](const auto&) {});
        store->inspect("r").then([](const auto&) {});
        static_cast<void>(store->leave(waiting.ticket));
        const auto other = contender("r" + std::to_string(i));
        static_cast<void>(store->enter({&other, 1}));
        if (i % 2 == 0) proxy_.cut();
        proxy_.pass();
    }
}

}  // namespace
}  // namespace holdfast::redis
