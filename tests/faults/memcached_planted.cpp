#include "faults/planted_values.hpp"
#include "servers/memcached_server.hpp"

/// Under the key of a lock in memcached.
namespace holdfast::test {
namespace {

class MemcachedGround final : public Ground {
public:
    MemcachedGround(std::string parameters, std::string key)
        : parameters_(std::move(parameters)), key_(std::move(key)) {}
    std::string url() const override { return server_.url() + parameters_; }
    void clear() const override { server_.flush(); }
    std::vector<Planted> values() const override {
        const std::string ours = "holdfast " + std::string(32, 'a');
        std::vector<std::string> all(edges.begin(), edges.end());
        all.insert(all.end(), texts.begin(), texts.end());
        for (const auto& edge : edges) all.push_back(ours + " " + edge + " host owner");
        for (const auto& text : texts) all.push_back(ours + " 1 " + text + " " + text);
        for (const char* const rest : {"", " ", " 1", " 1 h", " 1 h %", " 1 %zz %1b%5b2J%0a%00"}) {
            all.push_back(ours + rest);
        }
        all.push_back("holdfast nobody 1 h o");
        std::vector<Planted> planted;
        for (const auto& value : all) planted.push_back(set(value));
        return planted;
    }

private:
    Planted set(const std::string& value) const {
        return {"set " + std::to_string(value.size()), [this, value] {
                    server_.command("set " + key_ + " 0 0 " + std::to_string(value.size()) +
                                    "\r\n" + value);
                }};
    }

    MemcachedServer& server_ = MemcachedServer::shared();
    const std::string parameters_, key_;
};

}  // namespace

std::unique_ptr<Ground> make_memcached_ground() {
    return std::make_unique<MemcachedGround>("", "holdfast/orders");
}
std::unique_ptr<Ground> make_plain_memcached_ground() {
    return std::make_unique<MemcachedGround>("?layout=plain", "orders");
}

}  // namespace holdfast::test
