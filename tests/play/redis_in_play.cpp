#include <map>
#include <stdexcept>

#include "play/play_site.hpp"
#include "servers/redis_server.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/redis_scripts.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::test {

namespace {

namespace texts = redis::scripts;

/// KEYS: the line, its holders, its waiters, their order. Answers what the line says and is not so.
constexpr const char* audit = R"(
    local line = redis.call('GET', KEYS[1])
    if not line or string.sub(line, 1, 1) == 'q' then
        local left = redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[4])
        return left > 0 and (line and 'lone' or 'nobody') .. ', and other keys' or ''
    end
    local values = { cmsgpack.unpack(string.sub(line, 2)) }
    local held, waiting, holders, joined, waiters = 0, 0, 0, 0, 0
    local function hold(weight)
        held, holders = held + weight, holders + 1
        if weight == 0 then joined = joined + 1 end
    end
    local in_hash, only = values[12], values[13]
    if only then hold(values[16]) end
    for i, key in ipairs({ KEYS[2], KEYS[3] }) do
        local fields = redis.call('HGETALL', key)
        for at = 2, #fields, 2 do
            local phase, _, weight = cmsgpack.unpack(fields[at])
            if i == 1 then
                hold(weight)
            else
                waiters = waiters + 1
                if phase == 'waiting' then waiting = waiting + weight end
            end
        end
        if i == 1 and (#fields > 0) ~= in_hash then return 'the holders are elsewhere' end
    end
    local found = string.format('held %.0f, waiting %.0f, holders %d, joined %d, waiters %d',
        held, waiting, holders, joined, waiters)
    if waiters ~= redis.call('ZCARD', KEYS[4]) then return found .. ', and others in order' end
    local said = string.format('held %.0f, waiting %.0f, holders %d, joined %d, waiters %d',
        unpack(values, 3, 7))
    if found ~= said then return 'the line has ' .. found .. '; it says ' .. said end
    if holders == 0 then return '' end
    return held <= values[1] and '' or 'more is held than there is: ' .. found
)";

/// One of the contenders in a hash.
constexpr const char* delete_one = R"(
    local nonces = {}
    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
        nonces[#nonces + 1] = field
    end
    table.sort(nonces)
    if #nonces > 0 then redis.call('HDEL', KEYS[1], nonces[1 + ARGV[1] % #nonces]) end
)";

class RedisInPlay : public PlaySite {
public:
    explicit RedisInPlay(std::string layout) : layout_(std::move(layout)) {}

    std::string url() const override {
        const std::string through = faulty_ ? faulty_->url() : server_->url();
        return through + "?layout=" + layout_ + (layout_ == "redisson" ? "&watchdog=24h" : "");
    }
    void plant(Fault fault) override {
        const auto planted = std::make_shared<std::map<std::string, std::string>>();
        for (const std::string_view text : scripts()) {
            std::string changed(text);
            bool any = false;
            for (const Change& change : changes(fault)) any = change.make_in(changed) || any;
            if (!any) continue;
            const redis::Script broken(changed);
            server_->command({"FUNCTION", "LOAD", broken.library()});
            (*planted)[redis::Script(text).function()] = broken.function();
        }
        if (planted->empty()) throw std::runtime_error("nothing was planted");
        faulty_ = std::make_unique<FaultProxy>(server_->port());
        faulty_->rewrite_requests([planted](std::string& request) {
            for (const auto& [whole, broken] : *planted) {
                const auto found = request.find(whole);
                if (found != std::string::npos) request.replace(found, whole.size(), broken);
            }
        });
    }

protected:
    virtual std::vector<std::string_view> scripts() const = 0;
    virtual std::vector<Change> changes(Fault fault) const = 0;

    const std::string layout_;
    std::unique_ptr<RedisServer> server_ = clock_.start<RedisServer>();
    std::unique_ptr<FaultProxy> faulty_;
};

class OursOnRedis final : public RedisInPlay {
public:
    OursOnRedis() : RedisInPlay("holdfast") {}

    void forget(const std::string& resource) override { server_->command({"DEL", key(resource)}); }
    void damage(const std::string& resource, simulation::Random& random) override {
        const std::string keys[] = {key(resource), key(resource) + "#holders",
                                    key(resource) + "#waiters", key(resource) + "#order",
                                    key(resource) + "#left"};
        const auto which = random.below(7);
        if (which < 5) {
            server_->command({"DEL", keys[which]});
        } else {
            server_->command(
                {"EVAL", delete_one, "1", keys[which - 4], std::to_string(random.below(100))});
        }
    }
    std::string wrong_in_books(const std::string& resource) const override {
        const std::string line = key(resource);
        return server_->command(
            {"EVAL", audit, "4", line, line + "#holders", line + "#waiters", line + "#order"});
    }

private:
    static std::string key(const std::string& resource) {
        return redis::holdfast_layout()->key_of(resource);
    }

    std::vector<std::string_view> scripts() const override {
        return {texts::holdfast_enter, texts::holdfast_standing, texts::holdfast_renew,
                texts::holdfast_leave, texts::holdfast_together};
    }
    std::vector<Change> changes(Fault fault) const override {
        switch (fault) {
            case Fault::silent_offer:
                return {
                    {"local overdue, held, holders = overdue_holders(line)",
                     "line.silent = true local overdue, held, holders = overdue_holders(line)"},
                    {"        tell(line, one, 'o')\n    end)\nend",
                     "        if not line.silent then tell(line, one, 'o') end\n    end)\nend"}};
            case Fault::repeated_fence:
                return {{"math.max(last + 1, microseconds)", "math.max(last, microseconds)"}};
            case Fault::kept_lease:
                return {{"one.lease_end = line.now + lease",
                         "if one.lease_end == 0 then one.lease_end = line.now + lease end"},
                        {"if serial >= tonumber(latest) then", "if false then"}};
            default:
                return {{"line.held = line.held - holder.weight", ""}};
        }
    }
};

/// The layouts of others: keys beside the lock itself.
class OthersOnRedis : public RedisInPlay {
public:
    using RedisInPlay::RedisInPlay;

    void forget(const std::string& resource) override { server_->command({"DEL", resource}); }
    void damage(const std::string& resource, simulation::Random& random) override {
        server_->command(
            {"DEL", random.chance(500) ? resource : "holdfast_holds:{" + resource + "}"});
    }
    std::string wrong_in_books(const std::string&) const override { return {}; }

protected:
    std::vector<Change> changes(Fault fault) const override {
        if (fault == Fault::repeated_fence) {
            return {{"math.max(number + 1, now)", "math.max(number, now)"},
                    {"math.max(last + 1, microseconds)", "math.max(last, microseconds)"}};
        }
        return {{"redis.call('PEXPIRE', name, contender.lease)", ""},
                {"expire(lock.name, lease, alone)", ""}};
    }
};

class PlainOnRedis final : public OthersOnRedis {
public:
    PlainOnRedis() : OthersOnRedis("plain") {}
    Rules rules() const override { return {.in_line = false}; }

private:
    std::vector<std::string_view> scripts() const override {
        return {texts::plain_enter, texts::plain_renew};
    }
};

class RedissonOnRedis final : public OthersOnRedis {
public:
    RedissonOnRedis() : OthersOnRedis("redisson") {}
    Rules rules() const override {
        return {.in_line = false, .apart = false, .joins_at_entry_alone = false};
    }

private:
    std::vector<std::string_view> scripts() const override {
        return {texts::redisson_enter, texts::redisson_renew};
    }
};

}  // namespace

std::unique_ptr<PlaySite> ours_on_redis() {
    return std::make_unique<OursOnRedis>();
}
std::unique_ptr<PlaySite> plain_on_redis() {
    return std::make_unique<PlainOnRedis>();
}
std::unique_ptr<PlaySite> redisson_on_redis() {
    return std::make_unique<RedissonOnRedis>();
}

}  // namespace holdfast::test
