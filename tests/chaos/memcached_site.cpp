#include "chaos/fault_table.hpp"
#include "chaos/one_server.hpp"
#include "servers/memcached_server.hpp"
#include "support/proxy_protocol.hpp"

/// Memcached, which forgets, and gives no fence.
namespace holdfast::chaos {

namespace {

class Memcached final : public OneServer<test::MemcachedServer> {
public:
    Memcached() : OneServer(test::MemcachedOptions{}, test::memcached_protocol) {}

    std::string url() const override { return url_behind() + "?request_timeout=1s"; }
    Abilities abilities() const override {
        return {.shares = false, .permits = false, .fences = false};
    }
    std::vector<Fault> faults() override {
        auto all = OneServer::faults();
        all.push_back({"all is flushed",
                       [this](Random&) {
                           try {
                               server().flush();
                           } catch (const std::exception&) {
                               // It is down, or stands still.
                           }
                           return nothing;
                       },
                       table_.excused("somebody says `flush_all`"), true});
        return all;
    }

    Excused excuse_of_hands() const override { return table_.excused(ended_by_hand); }

private:
    Excused excuse_of_a_kill() const override {
        return table_.excused("the server is started again");
    }
    Excused excuse_of_a_pause() const override { return table_.excused("the server stands still"); }

    const FaultTable table_{"memcached"};
};

}  // namespace

std::vector<SiteEntry> memcached_sites() {
#ifndef HOLDFAST_STORE_MEMCACHED
    return {};
#endif
    return {{"memcached", [] { return std::make_unique<Memcached>(); }}};
}

}  // namespace holdfast::chaos
