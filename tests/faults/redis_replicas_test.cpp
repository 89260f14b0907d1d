#include "faults/lying_servers.hpp"
#include "faults/redis_replicated.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"
#include "support/acquiring.hpp"
#include "support/contender.hpp"
#include "support/soak.hpp"

/// A master that is lost before its replicas have what it answered, and replicas that must confirm.
namespace holdfast::test {
namespace {

/// So long that a busy machine is no reason to fail.
constexpr const char* patiently = "&request_timeout=60s";
/// For what is to fail, as often as it is tried.
constexpr const char* soon = "&request_timeout=1s";
/// For what is to be done, and is waited out when its server is gone.
constexpr const char* in_time = "&request_timeout=5s";

/// For those whose replicas must confirm.
Client client_of(Replicated& servers, const std::string& replicas,
                 const std::string& more = patiently) {
    return connect(servers.master().url() + "?replicas=" + replicas + more);
}
/// The master is lost, and the first replica takes its place.
void fail_over(Replicated& servers) {
    servers.master().kill();
    servers.resume();
    Replicated::promote(servers.first());
}

std::string lock_key() {
    return line_key("holdfast/orders");
}

/// What is thrown, if anything.
std::optional<Error> error_of(const Client& client) {
    try {
        const auto attempt = client.mutex("orders", {.lease = long_lease}).try_acquire();
        return std::nullopt;
    } catch (const Error& error) {
        return error;
    }
}

bool names_replicas(const Error& error) {
    return std::string_view(error.what()).find("replicas") != std::string_view::npos;
}
/// A busy machine may be the reason of some, but never lets one through.
void expect_unreachable(const Client& client) {
    std::optional<Error> error;
    EXPECT_TRUE(await([&] {
        error = error_of(client);
        return !error || names_replicas(*error);
    })) << error->what();
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), errc::unreachable);
}
void expect_free(const Client& client) {
    std::optional<Error> error;
    EXPECT_TRUE(await([&] { return !(error = error_of(client)); })) << error->what();
}

TEST(RedisReplicas, AHoldIsOnAllReplicasWhenAllConfirmIt) {
    Replicated servers;
    const Client ours = client_of(servers, "all");
    const auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_EQ(servers.first().command({"EXISTS", lock_key()}), "1");
    EXPECT_EQ(servers.second().command({"EXISTS", lock_key()}), "1");
}

TEST(RedisReplicas, AHoldThatIsNotConfirmedIsAnErrorAndTakenOut) {
    Replicated servers;
    const Client ours = client_of(servers, "one", soon);
    servers.pause();
    expect_unreachable(ours);
    // Its tombstone keeps the key for a minute.
    const Client rival = client_of(servers, "none");
    expect_free(rival);
    servers.resume();
    expect_free(ours);
}

TEST(RedisReplicas, OneIsEnoughWhereOneIsAskedFor) {
    Replicated servers;
    servers.second().pause();
    EXPECT_EQ(error_of(client_of(servers, "one")), std::nullopt);
    expect_unreachable(client_of(servers, "majority", soon));
    expect_unreachable(client_of(servers, "all", soon));
}

TEST(RedisReplicas, AReplicaThatIsGoneStillCounts) {
    Replicated servers;
    const Client ours = client_of(servers, "all", soon);
    expect_free(ours);
    servers.second().kill();
    ASSERT_TRUE(await([&] { return !servers.follows(servers.second()); }));
    expect_unreachable(ours);
}

TEST(RedisReplicas, AServerWithoutReplicasIsRefusedInTime) {
    RedisServer alone;
    expect_unreachable(connect(alone.url() + "?replicas=one" + soon));
    expect_unreachable(connect(alone.url() + "?replicas=majority" + soon));
    expect_unreachable(connect(alone.url() + "?replicas=all" + soon));
    EXPECT_EQ(error_of(connect(alone.url() + "?replicas=none")), std::nullopt);
}

TEST(RedisReplicas, NoneCostsNoConnectionAndNoRequest) {
    RedisServer alone;
    const Client ours = connect(alone.url() + "?replicas=none");
    const auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    const std::string clients = alone.command({"CLIENT", "LIST"});
    const auto first = clients.find("name=holdfast");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(clients.find("name=holdfast", first + 1), std::string::npos);
    const std::string statistics = alone.command({"INFO", "commandstats"});
    EXPECT_EQ(statistics.find("cmdstat_wait"), std::string::npos);
    EXPECT_EQ(statistics.find("cmdstat_role"), std::string::npos) << statistics;
}

TEST(RedisReplicas, WhatIsAskedMeanwhileIsConfirmedOnceTheReplicasGoOn) {
    Replicated servers;
    const Client ours = client_of(servers, "all");
    servers.pause();
    Acquiring orders(ours, "orders", {.lease = long_lease});
    Acquiring invoices(ours, "invoices", {.lease = long_lease});
    ASSERT_TRUE(
        await([&] { return servers.has_holder("orders") && servers.has_holder("invoices"); }));
    EXPECT_FALSE(orders.is_over(500ms));
    EXPECT_FALSE(invoices.is_over());
    servers.resume();
    EXPECT_TRUE(orders.get().held());
    EXPECT_TRUE(invoices.get().held());
}

TEST(RedisReplicas, AClaimIsConfirmedToo) {
    Replicated servers;
    const Client ours = client_of(servers, "all");
    const Client rival = client_of(servers, "none");
    auto hold = rival.mutex("orders", {.lease = long_lease}).acquire();
    Acquiring waiting(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return waiters_of(rival, "orders") == 1; }));
    servers.pause();
    hold.release();
    ASSERT_TRUE(await([&] {
        const auto lines = rival.inspect("orders");
        return !lines.empty() && lines.front().holders.size() == 1 && lines.front().waiters.empty();
    })) << "to the master it is a holder";
    EXPECT_FALSE(waiting.is_over(500ms));
    servers.resume();
    const auto next = waiting.get();
    EXPECT_TRUE(next.held());
    EXPECT_EQ(servers.first().command({"EXISTS", lock_key()}), "1");
}

TEST(RedisReplicas, AHoldWhoseRenewalsAreNotConfirmedIsLostInTime) {
    Replicated servers;
    const Client ours = client_of(servers, "majority", soon);
    // On a busy machine not even the first try may be confirmed within a second.
    const Hold hold = ours.mutex("orders", {.lease = 3s}).try_acquire_for(60s).value();
    servers.pause();
    EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }, 60s));
    EXPECT_FALSE(hold.held());
}

TEST(RedisReplicas, AHoldStaysWhileItsRenewalsAreConfirmed) {
    Replicated servers;
    const Client ours = client_of(servers, "all");
    auto hold = ours.mutex("orders", {.lease = 10s}).acquire();
    const auto before = servers.first().command({"GET", lock_key()});
    EXPECT_TRUE(await([&] { return servers.first().command({"GET", lock_key()}) != before; }, 60s));
    EXPECT_EQ(hold.release(), Released::in_time);
}

/// What lets a hold go on there is let through, and so is what has it confirmed.
TEST(RedisReplicas, AHoldIsConfirmedByAServerWithoutMemoryToo) {
    Replicated servers;
    const Client ours = client_of(servers, "all");
    auto hold = ours.mutex("orders", {.lease = 10s}).acquire();
    servers.master().command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    servers.master().command({"CONFIG", "SET", "maxmemory", "1"});
    const auto before = servers.first().command({"GET", lock_key()});
    EXPECT_TRUE(await([&] { return servers.first().command({"GET", lock_key()}) != before; }));
    EXPECT_FALSE(await([&] { return hold.lost().stop_requested(); }, 11s));
    EXPECT_EQ(hold.release(), Released::in_time);
}

WhichRequests asking_replicas() {
    return [](std::string_view request) { return words_of(request).front() == "WAIT"; };
}

TEST(RedisReplicas, AConfirmationWhoseReplyIsLostIsAskedForAgain) {
    Replicated servers;
    FaultProxy proxy(servers.master().port());
    const Client ours = connect(proxy.url() + "?replicas=all" + patiently);
    const Ambush ambush(proxy, asking_replicas(), {Verdict::drop_reply});
    auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
    EXPECT_GE(ambush.seen(), 2U);
    EXPECT_EQ(hold.release(), Released::in_time);
    EXPECT_TRUE(ours.inspect("orders").empty()) << "it was one contender";
}

TEST(RedisReplicas, AConnectionByWhichNobodyConfirmsAnyMoreIsMadeAnew) {
    Replicated servers;
    FaultProxy proxy(servers.master().port());
    const Client ours = connect(proxy.url() + "?replicas=all" + soon);
    const Ambush ambush(proxy, asking_replicas(), {Verdict::hold});
    EXPECT_TRUE(error_of(ours).has_value());
    EXPECT_TRUE(await([&] { return error_of(ours) == std::nullopt; }));
}

TEST(RedisReplicas, WhereItStandsIsNoAdmissionBeforeItIsConfirmed) {
    Replicated servers;
    const PortUser user(servers.master().url() + "?replicas=one" + in_time);
    const auto one = PortUser::contender();
    const auto entered = user.enter(one);
    ASSERT_TRUE(entered.ok());
    const Ticket ticket = entered.value().front().ticket;
    servers.pause();
    // What was confirmed before cannot be told from what was not: each answer counts by itself.
    EXPECT_FALSE(user.store().standing(ticket).get().ok());
    servers.resume();
    EXPECT_EQ(user.standing(ticket), Standing::State::admitted);
}

/// The master dies with what its replicas do not have.
void expect_no_double(const std::string& replicas) {
    Replicated servers;
    const Client ours = client_of(servers, replicas, in_time);
    servers.cut_off();
    Acquiring acquiring([&](const std::stop_token&) {
        auto attempt = ours.mutex("orders", {.lease = long_lease}).try_acquire();
        return std::move(attempt).value();
    });
    ASSERT_TRUE(await([&] { return servers.has_holder("orders"); }));
    fail_over(servers);
    EXPECT_THROW(acquiring.get(), Error);
    EXPECT_EQ(error_of(connect(servers.first().url())), std::nullopt) << "it is free there";
}

TEST(RedisReplicas, AMasterThatDiesBeforeAMajorityHasItHasGivenNothing) {
    for (int i = rounds(2, 20); i > 0; --i) expect_no_double("majority");
}

TEST(RedisReplicas, AMasterThatDiesBeforeAllHaveItHasGivenNothing) {
    for (int i = rounds(2, 20); i > 0; --i) expect_no_double("all");
}

TEST(RedisReplicas, WithNoneTwoMayHoldItAndTheFenceTellsThemApart) {
    for (int i = rounds(2, 20); i > 0; --i) {
        Replicated servers;
        const Client ours = client_of(servers, "none", in_time);
        servers.cut_off();
        const auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
        fail_over(servers);
        const Client theirs = connect(servers.first().url());
        const auto other = theirs.mutex("orders", {.lease = long_lease}).acquire();
        EXPECT_TRUE(hold.held());
        EXPECT_GT(other.fence(), hold.fence());
    }
}

/// Confirmed by all, so the one that takes the master's place has it, whichever it is.
TEST(RedisReplicas, WhatWasConfirmedIsThereAfterAFailover) {
    for (int i = rounds(2, 20); i > 0; --i) {
        Replicated servers;
        const Client ours = client_of(servers, "all", "&request_timeout=10s");
        const auto hold = ours.mutex("orders", {.lease = long_lease}).acquire();
        fail_over(servers);
        EXPECT_FALSE(connect(servers.first().url()).mutex("orders").try_lock());
    }
}

TEST(RedisReplicas, WhatIsNotConfirmedIsAskedAgainOfTheMasterThatSentinelsName) {
    RedisSentinels servers;
    const Client ours = connect(servers.url("replicas=majority&request_timeout=120s"));
    RedisServer& old = servers.master();
    ASSERT_FALSE(ours.mutex("invoices").try_acquire().value().fence() == 0);
    std::vector<RedisServer*> replicas;
    for (std::size_t i = 0; i < RedisSentinels::size; ++i) {
        if (&servers.server(i) != &old) replicas.push_back(&servers.server(i));
    }
    for (RedisServer* one : replicas) one->pause();
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    ASSERT_TRUE(await([&] { return old.command({"EXISTS", lock_key()}) == "1"; }));
    EXPECT_FALSE(acquiring.is_over(300ms));
    old.kill();
    for (RedisServer* one : replicas) one->resume();
    servers.await_failover_from(old);
    EXPECT_FALSE(acquiring.is_over(300ms)) << "one of two is no majority";
    old.restart();
    const auto hold = acquiring.get();
    EXPECT_TRUE(hold.held());
    EXPECT_FALSE(connect(servers.url()).mutex("orders").try_lock());
}

/// Takes one lock again and again, and counts when it was alone with it and when it was not.
class Visitors {
public:
    Visitors(const std::string& url, int count) {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([this, ours = connect(url)](const std::stop_token& stop) {
                while (!stop.stop_requested()) {
                    visit(ours);
                    // Sentinels are to have their time.
                    std::this_thread::sleep_for(1ms);
                }
            });
        }
    }
    int visits() const { return visits_; }
    int met() const { return met_; }

private:
    void visit(const Client& ours) {
        try {
            auto attempt = ours.mutex("orders", {.lease = 10s}).try_acquire_for(1s);
            if (!attempt) return;
            if (++inside_ != 1) ++met_;
            std::this_thread::yield();
            --inside_;
            ++visits_;
            attempt->release();
        } catch (const Error&) {
            // What is not confirmed in time.
        }
    }

    std::atomic<int> inside_{0};
    std::atomic<int> visits_{0};
    std::atomic<int> met_{0};
    std::vector<std::jthread> threads_;
};

TEST(RedisReplicas, NobodyMeetsAnotherThroughFailoversWhenAllConfirm) {
    RedisSentinels servers;
    const Visitors visitors(servers.url("replicas=all&request_timeout=2s"), 4);
    for (int i = rounds(2, 10); i > 0; --i) {
        const int before = visitors.visits();
        EXPECT_TRUE(await([&] { return visitors.visits() > before; }, 60s));
        RedisServer& old = servers.master();
        old.kill();
        servers.await_failover_from(old);
        old.restart();
        servers.await_whole();
    }
    const int before = visitors.visits();
    EXPECT_TRUE(await([&] { return visitors.visits() > before; }, 60s));
    EXPECT_EQ(visitors.met(), 0);
}

/// Those that follow this one, by what it says.
std::vector<RedisServer*> replicas_of(RedisCluster& servers, const RedisServer& master) {
    std::vector<RedisServer*> found;
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
        RedisServer& one = servers.server(i);
        if (master.is_followed_by(one)) found.push_back(&one);
    }
    return found;
}

TEST(RedisReplicas, InAClusterTheReplicasOfTheLocksOwnMasterConfirm) {
    RedisCluster servers;
    const Client ours = connect(servers.url("replicas=all&request_timeout=2s"));
    ASSERT_TRUE(await([&] { return error_of(ours) == std::nullopt; }, 60s));
    RedisServer& master = servers.server_of(lock_key());
    const auto paused = replicas_of(servers, master);
    ASSERT_EQ(paused.size(), 1U);
    paused.front()->pause();
    expect_unreachable(ours);
    paused.front()->resume();
    EXPECT_TRUE(await([&] { return error_of(ours) == std::nullopt; }, 60s));
}

/// The key that a round writes is turned away then, and so is what was to be confirmed by it.
/// The map leaves out those that have failed.
TEST(RedisReplicas, InAClusterAReplicaThatIsGoneStillCountsAfterAFailover) {
    Replicated servers;
    LyingNode node({.master_port = servers.master().port(),
                    .epoch = 1,
                    .masters_epoch = 1,
                    .replica_ports = {servers.first().port(), servers.second().port()}});
    const Client ours = connect("redis+cluster://" + node.address() + "?replicas=all" + soon);
    expect_free(ours);
    const int new_master = servers.first().port();
    node.say({.master_port = new_master,
              .epoch = 2,
              .masters_epoch = 2,
              .replica_ports = {servers.second().port()}});
    servers.second().command({"REPLICAOF", "127.0.0.1", std::to_string(new_master)});
    fail_over(servers);
    ASSERT_TRUE(await([&] { return servers.first().is_followed_by(servers.second()); }, 60s));
    expect_unreachable(ours);
    servers.master().restart();
    servers.master().command({"REPLICAOF", "127.0.0.1", std::to_string(new_master)});
    ASSERT_TRUE(await([&] { return servers.first().is_followed_by(servers.master()); }, 60s));
    expect_free(ours);
}

TEST(RedisReplicas, InAClusterASlotMayMoveBeforeWhatIsInItIsConfirmed) {
    RedisCluster servers;
    const Client ours = connect(servers.url("replicas=all&request_timeout=60s"));
    ours.mutex("orders", {.lease = long_lease}).acquire().release();
    RedisServer& from = servers.server_of(lock_key());
    RedisServer& to = &from == &servers.server(0) ? servers.server(1) : servers.server(0);
    const auto held_back = replicas_of(servers, from);
    ASSERT_EQ(held_back.size(), 1U);
    // It answers, and does not follow any more.
    held_back.front()->command({"CONFIG", "SET", "masteruser", "nobody", "masterauth", "wrong"});
    from.command({"CLIENT", "KILL", "TYPE", "replica"});
    Acquiring acquiring(ours, "orders", {.lease = long_lease});
    EXPECT_TRUE(await([&] { return from.command({"EXISTS", lock_key()}) == "1"; }));
    EXPECT_FALSE(acquiring.is_over(300ms));
    servers.move_slot(lock_key(), to);
    EXPECT_TRUE(acquiring.get().held());
}

}  // namespace
}  // namespace holdfast::test
