#include "faults/sites.hpp"
#include "servers/zookeeper_server.hpp"
#include "stores/open_store.hpp"
#include "support/process_wide.hpp"
#include "support/proxy_protocol.hpp"

namespace holdfast::test {
namespace {

ZookeeperOptions with_long_sessions(Serving serving) {
    return {.settings = {"maxSessionTimeout=60000"},
            .reaps_every = 100ms,
            .tls = serving == Serving::by_tls};
}

struct LongSessions : ZookeeperServer {
    explicit LongSessions(ZookeeperOptions options = with_long_sessions(Serving::all_tests))
        : ZookeeperServer(std::move(options)) {}
    static LongSessions& shared() { return ProcessWide<LongSessions>::get(); }
};

/// Each test has a part of the tree to itself.
class ZookeeperSite final : ServerOfSite<LongSessions>, public Site {
public:
    explicit ZookeeperSite(Serving serving)
        : ServerOfSite(serving, with_long_sessions(serving)),
          Site(its_server_,
               serving == Serving::by_tls ? its_server_.tls_port() : its_server_.port(),
               zookeeper_protocol) {}

    std::string url_at(const std::string& address) const override {
        return "zookeeper://" + address + part();
    }
    std::string secure_url_at(const std::string& address) const override {
        return "zookeepers://" + address + part();
    }
    bool is(SeenVerb verb, std::string_view request) const override {
        const auto seen = zookeeper_verb(request);
        switch (verb) {
            case SeenVerb::enter:
            case SeenVerb::enter_behind:
                return seen == ZookeeperVerb::create;
            case SeenVerb::renew:
                return seen == ZookeeperVerb::exists;
            case SeenVerb::leave:
            case SeenVerb::leave_before:
                return seen == ZookeeperVerb::remove || seen == ZookeeperVerb::multi;
        }
        return false;
    }
    /// By its place, as `break` does.
    void delete_lock(const std::string& name) const override {
        const auto opened = open_store(url());
        const auto line = opened.store->look_at(opened.prefix + name).get();
        const Ticket holder = line.value().at(0).holders.at(0).ticket;
        EXPECT_TRUE(opened.store->leave({holder.resource, {}, holder.place}).get().ok());
    }

private:
    static std::string part() {
        const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
        return std::string("/") + test->test_suite_name() + "/" + test->name() + "?tick=500ms";
    }
};

}  // namespace

std::unique_ptr<Site> make_zookeeper_site(Serving serving) {
    return std::make_unique<ZookeeperSite>(serving);
}

}  // namespace holdfast::test
