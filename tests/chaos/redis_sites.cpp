#include <algorithm>
#include <thread>
#include <utility>

#include "chaos/fault_table.hpp"
#include "chaos/one_server.hpp"
#include "chaos/set_clock.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"
#include "support/await.hpp"
#include "support/proxy_protocol.hpp"

/// Redis: alone behind a bad network, with sentinels, as a cluster.
namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;
using test::RedisCluster;
using test::RedisSentinels;
using test::RedisServer;

constexpr const char* machine_dies = "the server's machine dies";
constexpr const char* old_master_goes_on = "another server takes the master's place";
constexpr const char* process_restarts = "the server's process dies and is started again";
constexpr const char* clock_goes_forward = "the server's clock is set forward";

Excused excuse(const std::string& row, const std::string& column) {
    static const FaultTable table("redis");
    return table.excused(row, column);
}

// --- one server ---------------------------------------------------------------------------------

struct Alone {
    std::string layout;
    std::string persistence;  ///< as the table's column has it
    std::vector<std::string> settings;
};

class RedisAlone final : SetClock, public OneServer<RedisServer> {
public:
    explicit RedisAlone(const Alone& set_up)
        : OneServer(heeded_by(test::RedisOptions{.settings = set_up.settings}),
                    test::redis_protocol),
          set_up_(set_up) {}

    std::string url() const override {
        return url_behind() + "?request_timeout=1s&layout=" + set_up_.layout;
    }
    Abilities abilities() const override {
        const bool ours = set_up_.layout == "holdfast";
        return {.shares = set_up_.layout != "plain", .permits = ours, .several = ours};
    }
    Excused excuse_of_hands() const override { return excuse(ended_by_hand, set_up_.persistence); }
    std::vector<Fault> faults() override {
        auto all = OneServer::faults();
        all.push_back({"scripts are forgotten", [this](Random&) {
                           static_cast<void>(test::ask_resp(server().port(), {"SCRIPT", "FLUSH"}));
                           return nothing;
                       }});
        // One that forgets its last fence needs a clock that does not go back.
        if (!set_up_.settings.empty()) {
            add_those_of_the_clock(all, excuse(clock_goes_forward, set_up_.persistence));
        }
        return all;
    }

private:
    Excused excuse_of_a_kill() const override {
        return excuse(process_restarts, set_up_.persistence);
    }

    const Alone set_up_;
};

// --- several --------------------------------------------------------------------------------

/// How the table names what replicas must confirm.
std::string column_of(const std::string& replicas) {
    return replicas == "none" ? "`replicas=none`" : "`" + replicas + "`";
}

std::string parameters_for(const std::string& replicas) {
    return "request_timeout=2s&replicas=" + replicas;
}

/// Of a set of servers, one that is up and says so; nobody when none does.
template <class Servers, class Condition>
RedisServer* find(Servers& servers, Condition condition) {
    for (std::size_t i = 0; i < Servers::size; ++i) {
        RedisServer& one = servers.server(i);
        if (one.runs() && condition(one)) return &one;
    }
    return nullptr;
}

/// Faults of any set of masters and replicas.
template <class Servers>
class Replicating : public Site {
public:
    explicit Replicating(std::string replicas) : replicas_(std::move(replicas)) {}

    std::string url() const override { return servers_.url(parameters_for(replicas_)); }
    void settle() override { servers_.await_whole(); }
    Excused excuse_of_hands() const override { return excuse(ended_by_hand, column_of(replicas_)); }

    std::vector<Fault> faults() override {
        const std::string column = column_of(replicas_);
        return {
            {"a master is killed", [this](Random& random) { return kill(some_master(random)); },
             excuse(machine_dies, column)},
            {"a master stands still", [this](Random& random) { return pause(some_master(random)); },
             told_when_it_can_be(excuse(old_master_goes_on, column))},
            {"a replica stands still",
             [this](Random& random) { return pause(some_replica(random)); }},
            {"connections of clients are cut", [this](Random& random) {
                 static_cast<void>(test::ask_resp(servers_.server(random() % Servers::size).port(),
                                                  {"CLIENT", "KILL", "TYPE", "normal"}));
                 return nothing;
             }}};
    }

protected:
    /// Whoever is alone with an old master learns of the others when it reaches them.
    static Excused told_when_it_can_be(Excused excused) {
        excused.told_in_time = false;
        return excused;
    }

    /// From a random one on.
    RedisServer* some_master(Random& random) {
        return some(random, [](const RedisServer& one) { return one.is_master(); });
    }
    RedisServer* some_replica(Random& random) {
        return some(random, [](const RedisServer& one) { return one.is_replica(); });
    }

    Servers servers_;
    const std::string replicas_;

private:
    template <class Condition>
    RedisServer* some(Random& random, Condition condition) {
        const auto first = random() % Servers::size;
        for (std::size_t i = 0; i < Servers::size; ++i) {
            RedisServer& one = servers_.server((first + i) % Servers::size);
            if (one.runs() && condition(one)) return &one;
        }
        return nullptr;
    }
    /// One at a time: two that forget are more than any number of replicas can make good. It comes
    /// back when another one has taken its place, or it would make that one forget too.
    std::function<void()> kill(RedisServer* master) {
        if (master == nullptr || find(servers_, [](auto& one) { return !one.runs(); })) {
            return nothing;
        }
        // One that was deposed and does not know it yet is one too many.
        const auto masters = std::min(count_masters(), Servers::size / 2);
        master->kill();
        return [this, master, masters] {
            if (!test::await([&] { return count_masters() >= masters; }, 60s)) {
                throw std::runtime_error("nobody took the place of the master that was killed");
            }
            master->restart();
        };
    }
    std::function<void()> pause(RedisServer* server) {
        if (server == nullptr) return nothing;
        server->pause();
        return [server] { server->resume(); };
    }
    std::size_t count_masters() {
        std::size_t count = 0;
        for (std::size_t i = 0; i < Servers::size; ++i) {
            RedisServer& one = servers_.server(i);
            if (one.runs() && one.is_master()) ++count;
        }
        return count;
    }
};

class RedisWithSentinels final : public Replicating<RedisSentinels> {
public:
    using Replicating::Replicating;

    std::vector<Fault> faults() override {
        auto all = Replicating::faults();
        all.push_back({"a failover is asked for",
                       [this](Random& random) {
                           static_cast<void>(test::ask_resp(
                               servers_.sentinel(random() % RedisSentinels::size).port(),
                               {"SENTINEL", "FAILOVER", RedisSentinels::master_name}));
                           return nothing;
                       },
                       excuse(machine_dies, column_of(replicas_))});
        all.push_back({"a sentinel stands still", [this](Random& random) {
                           auto& sentinel = servers_.sentinel(random() % RedisSentinels::size);
                           sentinel.pause();
                           return [&sentinel] { sentinel.resume(); };
                       }});
        all.push_back({"a sentinel is killed", [this](Random& random) {
                           auto& sentinel = servers_.sentinel(random() % RedisSentinels::size);
                           sentinel.kill();
                           return [&sentinel] { sentinel.restart(); };
                       }});
        return all;
    }
};

class RedisInCluster final : public Replicating<RedisCluster> {
public:
    using Replicating::Replicating;

    std::vector<Fault> faults() override {
        auto all = Replicating::faults();
        all.push_back({"a failover is asked for", [this](Random& random) {
                           if (RedisServer* const one = some_replica(random)) take_over(*one);
                           return nothing;
                       }});
        all.push_back({.name = "a slot moves",
                       .begin =
                           [this](Random& random) {
                               move_some_slot(random);
                               return nothing;
                           },
                       .alone = true});
        return all;
    }

private:
    /// Over when this returns, unless it was refused: no slot can be moved meanwhile.
    static void take_over(const RedisServer& replica) {
        static_cast<void>(test::ask_resp(replica.port(), {"CLUSTER", "FAILOVER"}));
        static_cast<void>(test::await([&] { return replica.is_master(); }, 5s));
    }
    void move_some_slot(Random& random) {
        RedisServer* const to = some_master(random);
        const std::string resource = "orders/" + std::to_string(random() % 6);
        const auto key = key_of(resource);
        if (to != nullptr && key) servers_.move_slot(*key, *to);
    }
    /// One that is there at the moment.
    std::optional<std::string> key_of(const std::string& resource) {
        for (std::size_t i = 0; i < RedisCluster::size; ++i) {
            const auto keys =
                test::ask_resp(servers_.server(i).port(), {"KEYS", "*" + resource}).value_or("");
            if (keys.size() > 2) return keys.substr(1, keys.find_first_of(",]") - 1);
        }
        return std::nullopt;
    }
};

/// One that forgets whatever befalls its clients, again and again, which no table excuses: what
/// finds nothing there finds nothing.
class RedisForgetting final : public Site {
public:
    std::string url() const override { return server_.url(); }
    std::vector<Fault> faults() override { return {}; }
    Excused excuse_of_hands() const override { return {}; }
    void settle() override {
        for (int times = 20; times > 0; --times) {
            server_.flush();
            std::this_thread::sleep_for(30ms);
        }
    }

private:
    RedisServer server_;
};

template <class SiteOfSeveral>
void add_settings(const std::string& name, std::vector<SiteEntry>& sites) {
    for (const std::string replicas : {"none", "one", "majority", "all"}) {
        sites.push_back(
            {name + replicas, [replicas] { return std::make_unique<SiteOfSeveral>(replicas); }});
    }
}

SiteEntry alone(const std::string& name, Alone set_up) {
    return {name, [set_up] { return std::make_unique<RedisAlone>(set_up); }};
}

}  // namespace

std::vector<SiteEntry> redis_sites() {
#ifndef HOLDFAST_STORE_REDIS
    return {};
#endif
    const std::vector<std::string> every_write{"appendonly yes", "appendfsync always"};
    const std::string saved = "alone, `appendfsync always`";
    std::vector<SiteEntry> sites{
        alone("redis", {"holdfast", saved, every_write}),
        alone("redis_unsaved", {"holdfast", "alone, no persistence", {}}),
        alone("redis_plain", {"plain", saved, every_write}),
        alone("redis_redisson", {"redisson", saved, every_write}),
    };
    sites.push_back({.name = "redis_forgetting",
                     .make = [] { return std::make_unique<RedisForgetting>(); },
                     .known_bad = true});
    add_settings<RedisWithSentinels>("redis_sentinel_", sites);
    add_settings<RedisInCluster>("redis_cluster_", sites);
    return sites;
}

}  // namespace holdfast::chaos
