#include "faults/planted_values.hpp"
#include "faults/redis_faults.hpp"
#include "support/message_pack.hpp"

/// Under the keys of each layout of Redis.
namespace holdfast::test {
namespace {

using std::string_literals::operator""s;

class RedisGround : public Ground {
public:
    explicit RedisGround(std::string layout) : layout_(std::move(layout)) {}
    std::string url() const override { return server_.url() + "?layout=" + layout_; }
    void clear() const override { server_.flush(); }

protected:
    Planted set(const std::string& key, const std::string& value) const {
        return {"SET " + key + " " + shown(value) + " of " + std::to_string(value.size()),
                [this, key, value] {
                    server_.command({"SET", key, value});
                }};
    }
    Planted also(const Words& words) const {
        return {words[0] + " " + words[1] + " " + shown(words.back()),
                [this, words] { server_.command(words); }};
    }
    /// Each beside the one before it.
    static Planted both(const Planted& one, const Planted& other) {
        return {one.what + ", " + other.what, [one, other] {
                    one.plant();
                    other.plant();
                }};
    }

    RedisServer& server_ = RedisServer::shared();

private:
    const std::string layout_;
};

class OwnGround final : public RedisGround {
public:
    OwnGround() : RedisGround("holdfast") {}

    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        for (const auto& edge : edges) all.push_back(set(fence_key(name_), edge));
        for (const auto& text : texts) {
            for (const char* const form : {"", "q", "l"}) all.push_back(set(key_, form + text));
            all.push_back(set(fence_key(name_), text));
        }
        add_lone(all);
        add_full(all);
        return all;
    }

private:
    static std::string digits(const std::string& number) {
        return (std::string(16, ' ') + number).substr(std::min<std::size_t>(number.size(), 16));
    }
    void add_lone(std::vector<Planted>& all) const {
        const auto terms = lone_terms();
        for (const auto& edge : edges) {
            for (std::size_t place = 0; place < 3; ++place) {
                std::string moments = joined({soon(), soon(), soon()});
                moments.replace(16 * place, 16, digits(edge));
                all.push_back(set(key_, "q" + moments + nonce_ + joined(terms)));
            }
        }
        for (std::size_t place = 0; place < terms.size(); ++place) {
            for (const auto& edge : packed_edges()) {
                auto changed = terms;
                changed[place] = edge;
                all.push_back(
                    set(key_, joined({"q", soon(), soon(), soon(), nonce_, joined(changed)})));
            }
        }
    }
    void add_full(std::vector<Planted>& all) const {
        const auto head = full_head();
        for (std::size_t place = 0; place < head.size(); ++place) {
            for (const auto& edge : packed_edges()) {
                auto changed = head;
                changed[place] = edge;
                const Planted line = set(key_, "l" + joined(changed));
                all.push_back(line);
                if (place != held && place != in_hash) continue;
                all.push_back(both(line, also({"HSET", key_ + "#holders", nonce_, holder(edge)})));
                all.push_back(both(line, also({"HSET", key_ + "#waiters", nonce_, holder(edge)})));
            }
        }
        // Nobody holds less than nothing, so that others might hold more than there is.
        for (const std::int64_t less : {-1LL, -1'000'000'000LL, -2'000'000'000LL}) {
            auto owing = head;
            owing[held] = packed(less);
            all.push_back(set(key_, "l" + joined(owing)));
            owing[4] = packed(std::int64_t{1});
            owing[in_hash] = "\xc3";
            all.push_back(both(set(key_, "l" + joined(owing)),
                               also({"HSET", key_ + "#holders", nonce_, holder(packed(less))})));
            owing[8] = packed(std::int64_t{1});
            all.push_back(both(set(key_, "l" + joined(owing)),
                               also({"HSET", key_ + "#holders", nonce_, holder(packed(less))})));
        }
    }
    /// lease, serial, weight, capacity, fairness, client, owner, host, pid
    std::vector<std::string> lone_terms() const {
        return {packed("30000"s),      packed("0"s),      packed("1000000000"s),
                packed("1000000000"s), packed("f"s),      packed(nonce_),
                packed("\x1b[2J"s),    packed("\xff\n"s), packed("4711"s)};
    }
    /// capacity, fairness, held, waiting, holders, joined, waiters, next_ticket, earliest_end,
    /// keys_end, left_until, in_hash
    static std::vector<std::string> full_head() {
        const std::int64_t later = 4'000'000'000'000;
        const std::int64_t none = 0;
        return {packed(std::int64_t{1'000'000'000}),
                packed("f"s),
                packed(none),
                packed(none),
                packed(none),
                packed(none),
                packed(none),
                packed(std::int64_t{1}),
                packed(later),
                packed(later),
                packed(none),
                "\xc2"s};
    }
    /// phase, ticket, weight, fence, lease_end, claim_end, since, serial, client, owner, host, pid
    std::string holder(const std::string& weight) const {
        const std::int64_t later = 4'000'000'000'000;
        return joined({packed("admitted"s), packed(std::int64_t{1}), weight, weight, packed(later),
                       packed(std::int64_t{0}), weight, weight, packed(nonce_), packed("\x1b[2J"s),
                       packed("\n"s), packed("1"s)});
    }
    static std::string soon() { return "4000000000000000"; }

    /// Places in the head.
    static constexpr std::size_t held = 2, in_hash = 11;

    const std::string name_ = "holdfast/orders";
    const std::string key_ = line_key(name_);
    const std::string nonce_ = std::string(32, 'a');
};

class PlainGround final : public RedisGround {
public:
    PlainGround() : RedisGround("plain") {}

    std::vector<Planted> values() const override {
        const std::string beside = "holdfast_holds:{orders}";
        std::vector<Planted> all;
        for (const auto& edge : edges) {
            const std::string padded = (edge + std::string(16, ' ')).substr(0, 16);
            for (const auto& numbers : {edge, padded + padded, std::string(16, '0') + padded}) {
                const std::string record = numbers + "theirs " + edge + " " + edge + " " + edge +
                                           " 99999999999999999999 99999 x";
                all.push_back(set(beside, record));
                all.push_back(both(set(beside, record), set("orders", "theirs")));
            }
            all.push_back(set("orders", edge));
        }
        for (const auto& text : texts) {
            all.push_back(set("orders", text));
            all.push_back(set(beside, text));
        }
        return all;
    }
};

class RedissonGround final : public RedisGround {
public:
    RedissonGround() : RedisGround("redisson") {}

    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        for (const auto& edge : edges) add(all, edge);
        for (const auto& text : texts) add(all, text);
        return all;
    }

private:
    void add(std::vector<Planted>& all, const std::string& value) const {
        const std::string owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";
        const std::string record = "x" + owner + " " + value + " 0 1 1 1 x";
        all.push_back(set("holdfast_fence:{orders}", value));
        all.push_back(also({"HSET", "orders", owner, value}));
        all.push_back(also({"HSET", "orders", value, "1"}));
        all.push_back(also({"HSET", "orders", "mode", value, owner, "1"}));
        // So many reads as nobody looks at.
        all.push_back(also({"HSET", "orders", "mode", "read", owner, value}));
        all.push_back(also({"HSET", "orders", "mode", "read", owner, "2147483647"}));
        all.push_back(
            both(also({"HSET", "orders", owner, "1"}),
                 also({"HSET", "holdfast_holds:{orders}", std::string(32, 'a'), record})));
    }
};

}  // namespace

std::unique_ptr<Ground> make_redis_ground() {
    return std::make_unique<OwnGround>();
}
std::unique_ptr<Ground> make_plain_redis_ground() {
    return std::make_unique<PlainGround>();
}
std::unique_ptr<Ground> make_redisson_ground() {
    return std::make_unique<RedissonGround>();
}

}  // namespace holdfast::test
