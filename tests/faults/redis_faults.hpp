#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <holdfast/holdfast.hpp>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "faults/ambush.hpp"
#include "faults/server_faults.hpp"
#include "port/store.hpp"
#include "servers/redis_server.hpp"
#include "stores/open_store.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/redis_scripts.hpp"
#include "support/await.hpp"
#include "support/fault_proxy.hpp"
#include "support/resp.hpp"

/// What the fault tests of the Redis store share.
namespace holdfast::test {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

/// Too long to end while a test looks: who is out of line was taken out of it.
inline constexpr std::chrono::milliseconds long_lease = 60s;

/// The key of a resource's line in our layout; those of its holders and waiters begin with it.
inline std::string line_key(const std::string& resource) {
    return redis::holdfast_layout()->key_of(resource);
}
/// That of the fences of its bucket.
inline std::string fence_key(const std::string& resource) {
    const std::string key = line_key(resource);
    return key.substr(0, key.find('}') + 1) + "#fence";
}

/// A fence that nobody was given may count as given: it harms nobody.
inline bool counts_fences(std::string_view key) {
    return key.ends_with("#fence");
}

struct RedisLayout {
    std::string name;
    std::string_view enter, standing, renew, leave, inspect;

    std::string parameters() const { return "?layout=" + name; }
    /// Others may take the lock, so there is no line.
    bool is_foreign() const { return name != "holdfast"; }
    /// Of the lock itself.
    std::string key(const std::string& lock) const {
        return is_foreign() ? lock : line_key("holdfast/" + lock);
    }
    friend void PrintTo(const RedisLayout& layout, std::ostream* out) { *out << layout.name; }
};

inline const std::array<RedisLayout, 3>& redis_layouts() {
    namespace texts = redis::scripts;
    static const std::array<RedisLayout, 3> layouts{
        RedisLayout{"holdfast", texts::holdfast_enter, texts::holdfast_standing,
                    texts::holdfast_renew, texts::holdfast_leave, texts::holdfast_inspect},
        RedisLayout{"plain", texts::plain_enter, texts::plain_standing, texts::plain_renew,
                    texts::plain_leave, texts::plain_inspect},
        RedisLayout{"redisson", texts::redisson_enter, texts::redisson_standing,
                    texts::redisson_renew, texts::redisson_leave, texts::redisson_inspect}};
    return layouts;
}

/// A verb of the port, as it is seen on its way to the server.
using Verb = std::string_view RedisLayout::*;

/// Whether a request is that verb, of whatever layout.
inline bool is(Verb verb, std::string_view request) {
    const auto words = words_of(request);
    if (words.size() < 2) return false;
    for (const RedisLayout& layout : redis_layouts()) {
        const redis::Script script(layout.*verb);
        for (const std::string& way :
             {script.function(), script.digest(), std::string(script.text())}) {
            if (words[1] == way) return true;
        }
    }
    return false;
}

inline WhichRequests asking(Verb verb) {
    return [verb](std::string_view request) { return is(verb, request); };
}

inline std::vector<std::string> keys_of(const RedisServer& server) {
    std::string text = server.command({"KEYS", "*"});
    std::vector<std::string> keys;
    text = text.substr(1, text.size() - 2);
    for (std::size_t end = 0; !text.empty(); text.erase(0, end)) {
        end = text.find(", ");
        keys.push_back(text.substr(0, end));
        end = end == std::string::npos ? text.size() : end + 2;
    }
    return keys;
}

/// Fences and tombstones end by themselves; so does a line that remembers tombstones.
inline bool may_stay(const RedisServer& server, const std::string& key) {
    if (counts_fences(key) || key.ends_with("#left")) return true;
    if (key.starts_with("holdfast_fence:") || key.starts_with("holdfast_left:")) return true;
    if (key.starts_with("holdfast_holds:")) return server.command({"TYPE", key}) == "string";
    return server.command({"EXISTS", key + "#left"}) == "1";
}

/// What is in the server that should not stay there: anything but fences and tombstones, or
/// anything that stays for ever.
inline std::string leftovers_of(const RedisServer& server) {
    std::string found;
    for (const std::string& key : keys_of(server)) {
        const std::string left = server.command({"PTTL", key});
        if (!may_stay(server, key) || left == "-1") found += key + " (" + left + " ms) ";
    }
    return found;
}

/// Looks until what is cleaned up in the background is.
inline void expect_nobody_left(const RedisServer& server, std::chrono::seconds limit = 10s) {
    EXPECT_TRUE(await([&] { return leftovers_of(server).empty(); }, limit)) << leftovers_of(server);
    const auto lines = open_store(server.url()).store->inspect("").get();
    ASSERT_TRUE(lines.ok());
    EXPECT_TRUE(lines.value().empty());
}

/// How often the server was asked to run this command, in scripts too.
inline std::size_t calls_of(const RedisServer& server, const std::string& command) {
    const std::string statistics = server.command({"INFO", "commandstats"});
    const std::string before = "cmdstat_" + command + ":calls=";
    const auto found = statistics.find(before);
    return found == std::string::npos ? 0 : std::stoul(statistics.substr(found + before.size()));
}

/// How many scripts it was asked to run, in whatever way.
inline std::size_t scripts_run(const RedisServer& server) {
    return calls_of(server, "fcall") + calls_of(server, "evalsha") + calls_of(server, "eval");
}

/// So that each verb is one request, as a function or by its digest.
inline void load_scripts(const RedisServer& server) {
    const auto load = [&](std::string_view text) {
        server.command({"FUNCTION", "LOAD", "REPLACE", redis::Script(text).library()});
        server.command({"SCRIPT", "LOAD", std::string(text)});
    };
    for (const RedisLayout& layout : redis_layouts()) {
        for (const Verb verb : {&RedisLayout::enter, &RedisLayout::standing, &RedisLayout::renew,
                                &RedisLayout::leave, &RedisLayout::inspect}) {
            load(layout.*verb);
        }
    }
    load(redis::scripts::holdfast_together);
}

/// The verbs of the port, one at a time.
class PortUser {
public:
    explicit PortUser(const std::string& url) : store_(open_store(url).store) {}

    static Contender contender(std::string name = "orders") {
        static std::mt19937_64 random{std::random_device{}()};
        Contender one{
            .resource = std::move(name), .nonce = {}, .owner = "somebody", .lease = long_lease};
        for (auto& byte : one.nonce.bytes) byte = static_cast<std::byte>(random());
        return one;
    }

    Store& store() const { return *store_; }
    Result<std::vector<Entry>> enter(const Contender& one) const {
        return store_->enter({&one, 1}).get();
    }
    Result<Standing> leave(const Ticket& ticket) const { return store_->leave(ticket).get(); }
    Standing::State renew(const Ticket& ticket) const {
        return store_->renew({&ticket, 1}, long_lease).get().value().front().state;
    }
    Standing::State standing(const Ticket& ticket) const {
        return store_->standing(ticket).get().value().state;
    }

private:
    std::shared_ptr<Store> store_;
};

/// An empty server, and a network before it that the test makes fail.
class RedisFaults : public testing::Test {
protected:
    RedisFaults() {
        server_.flush();
        load_scripts(server_);
    }

    /// Through the network that fails.
    Client client(const std::string& parameters = "", ClientOptions options = {}) const {
        return connect(proxy_.url() + parameters, std::move(options));
    }
    /// Straight to the server.
    Client rival(const std::string& parameters = "", ClientOptions options = {}) const {
        return connect(server_.url() + parameters, std::move(options));
    }
    [[nodiscard]] bool await_scripts(std::size_t count) const {
        return await([&] { return scripts_run(server_) >= count; });
    }
    void expect_nobody_left() const { test::expect_nobody_left(server_); }

    RedisServer& server_ = RedisServer::shared();
    FaultProxy proxy_{server_.port()};
};

class EachLayout : public RedisFaults, public testing::WithParamInterface<RedisLayout> {
protected:
    Client client(ClientOptions options = {}) const {
        return RedisFaults::client(GetParam().parameters(), std::move(options));
    }
    Client rival(ClientOptions options = {}) const {
        return RedisFaults::rival(GetParam().parameters(), std::move(options));
    }
    std::string url_behind(const std::string& more = "") const {
        return proxy_.url() + GetParam().parameters() + more;
    }
};

}  // namespace holdfast::test

#define HOLDFAST_FOR_EACH_REDIS_LAYOUT(suite)                                                  \
    INSTANTIATE_TEST_SUITE_P(Redis, suite, testing::ValuesIn(holdfast::test::redis_layouts()), \
                             [](const auto& about) { return about.param.name; })
