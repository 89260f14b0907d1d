#include <chrono>
#include <thread>

#include "chaos/fault_table.hpp"
#include "servers/redis_nodes.hpp"

/// Independent nodes: five, of which any number forget, one after the other.
namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;
using test::RedisNodes;
using test::RedisServer;

class Redlock final : public Site {
public:
    std::string url() const override {
        return nodes_.url("?request_timeout=1s&max_lease=" + std::to_string(max_lease.count()) +
                          "s");
    }
    Abilities abilities() const override { return {.permits = false, .several = false}; }

    Excused excuse_of_hands() const override {
        return FaultTable("redlock").excused(ended_by_hand);
    }

    /// Nothing excuses that two hold, whatever befalls a node: no clock is set.
    std::vector<Fault> faults() override {
        return {{"a node is killed, and comes back with its data",
                 [this](Random& random) {
                     return kill(random, [](RedisServer& one) { one.restart(); });
                 }},
                {"a node is killed, and comes back empty",
                 [this](Random& random) {
                     return kill(random, [](RedisServer& one) { one.restart_empty(); });
                 }},
                {"a node stands still",
                 [this](Random& random) -> std::function<void()> {
                     RedisServer& one = any(random);
                     if (!one.runs()) return nothing;
                     one.pause();
                     return [&one] { one.resume(); };
                 }},
                {"a node is emptied",
                 [this](Random& random) {
                     static_cast<void>(test::ask_resp(any(random).port(), {"FLUSHALL"}));
                     return nothing;
                 }},
                {"connections of clients are cut", [this](Random& random) {
                     static_cast<void>(
                         test::ask_resp(any(random).port(), {"CLIENT", "KILL", "TYPE", "normal"}));
                     return nothing;
                 }}};
    }
    /// What has forgotten counts again then.
    void settle() override { std::this_thread::sleep_for(max_lease + 1s); }

private:
    static constexpr std::chrono::seconds max_lease{4};
    static void nothing() {}

    RedisServer& any(Random& random) { return nodes_.node(random() % nodes_.size()); }
    template <class BringBack>
    std::function<void()> kill(Random& random, BringBack bring_back) {
        RedisServer& one = any(random);
        if (!one.runs()) return nothing;
        one.kill();
        return [&one, bring_back] { bring_back(one); };
    }

    RedisNodes nodes_{5, {.settings = {"appendonly yes"}}};
};

}  // namespace

std::vector<SiteEntry> redlock_sites() {
#ifndef HOLDFAST_STORE_REDLOCK
    return {};
#endif
    return {{"redlock", [] { return std::make_unique<Redlock>(); }}};
}

}  // namespace holdfast::chaos
