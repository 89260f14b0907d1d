#include "faults/planted_values.hpp"
#include "faults/redis_faults.hpp"
#include "servers/redis_nodes.hpp"
#include "support/message_pack.hpp"

/// Under the keys of independent nodes.
namespace holdfast::test {
namespace {

/// On all of the nodes.
class RedlockGround final : public Ground {
public:
    std::string url() const override { return nodes_.url("?request_timeout=1s"); }
    void clear() const override { nodes_.empty(); }
    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        for (const auto& edge : edges) {
            all.push_back(everywhere({"SET", fence_key("holdfast/orders"), edge}));
        }
        for (const auto& text : texts) {
            all.push_back(everywhere({"SET", fence_key("holdfast/orders"), text}));
            all.push_back(everywhere({"HSET", key_, std::string(32, 'a'), text}));
            all.push_back(everywhere({"HSET", key_, text, holder()[0]}));
            all.push_back(everywhere({"SET", key_ + "called", text}));
            all.push_back(everywhere({"ZADD", key_ + "called", "9000000000000000", text}));
        }
        for (std::size_t place = 0; place < holder().size(); ++place) {
            for (const auto& edge : packed_edges()) {
                auto changed = holder();
                changed[place] = edge;
                all.push_back(everywhere({"HSET", key_, std::string(32, 'a'), joined(changed)}));
            }
        }
        return all;
    }

private:
    /// weight, fence, the end of its lease, serial, since when, who it is, who let it in
    static std::vector<std::string> holder() {
        const std::int64_t later = 4'000'000'000'000'000;
        return {packed(std::int64_t{1'000'000'000}),
                packed(later),
                packed(later),
                packed(std::int64_t{0}),
                packed(later),
                packed("h 1 \x1b[2J"s),
                packed("5e7"s)};
    }
    Planted everywhere(const Words& words) const {
        return {words[0] + " " + words[1] + " " + shown(words.back()), [this, words] {
                    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_.node(i).command(words);
                }};
    }

    mutable RedisNodes nodes_{3};
    const std::string key_ = line_key("holdfast/orders") + "=";
};

}  // namespace

std::unique_ptr<Ground> make_redlock_ground() {
    return std::make_unique<RedlockGround>();
}

}  // namespace holdfast::test
