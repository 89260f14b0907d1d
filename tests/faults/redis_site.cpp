#include "faults/redis_faults.hpp"
#include "faults/sites.hpp"

namespace holdfast::test {

namespace {

class RedisSite final : ServerOfSite<RedisServer>, public Site {
public:
    /// What is answered outlives a crash.
    RedisSite(const RedisLayout& layout, Serving serving)
        : ServerOfSite(serving, RedisOptions{.tls = serving == Serving::by_tls,
                                             .settings = {"appendonly yes", "appendfsync always"}}),
          Site(its_server_,
               serving == Serving::by_tls ? its_server_.tls_port() : its_server_.port(),
               redis_protocol),
          layout_(layout) {
        its_server_.flush();
        load_scripts(its_server_);
    }

    std::string url_at(const std::string& address) const override {
        return "redis://" + address + layout_.parameters();
    }
    std::string secure_url_at(const std::string& address) const override {
        return "rediss://" + address + layout_.parameters();
    }
    bool is(SeenVerb verb, std::string_view request) const override {
        switch (verb) {
            case SeenVerb::enter:
            case SeenVerb::enter_behind:
                return test::is(&RedisLayout::enter, request);
            case SeenVerb::renew:
                return test::is(&RedisLayout::renew, request);
            case SeenVerb::leave:
            case SeenVerb::leave_before:
                return test::is(&RedisLayout::leave, request);
        }
        return false;
    }
    std::string leftovers() const override { return leftovers_of(its_server_); }
    void end_sessions() override {
        its_server_.command({"FUNCTION", "FLUSH"});
        its_server_.command({"SCRIPT", "FLUSH"});
        for (const char* type : {"normal", "pubsub"}) {
            its_server_.command({"CLIENT", "KILL", "TYPE", type});
        }
    }
    void delete_lock(const std::string& name) const override {
        EXPECT_EQ(its_server_.command({"DEL", layout_.key(name)}), "1");
    }

private:
    const RedisLayout& layout_;
};

}  // namespace

std::unique_ptr<Site> make_redis_site(Serving serving) {
    return std::make_unique<RedisSite>(redis_layouts()[0], serving);
}
std::unique_ptr<Site> make_plain_redis_site(Serving serving) {
    return std::make_unique<RedisSite>(redis_layouts()[1], serving);
}
std::unique_ptr<Site> make_redisson_site(Serving serving) {
    return std::make_unique<RedisSite>(redis_layouts()[2], serving);
}

}  // namespace holdfast::test
