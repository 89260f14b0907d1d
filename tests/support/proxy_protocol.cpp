#include "support/proxy_protocol.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "support/resp.hpp"

namespace holdfast::test {

namespace {

bool is_subscription(const std::vector<std::string>& words) {
    if (words.empty()) return false;
    std::string name = words.front();
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return name.ends_with("SUBSCRIBE");
}

class RedisProtocol final : public ProxyProtocol {
public:
    std::optional<std::size_t> size_of_first(std::string_view bytes) const override {
        std::string_view rest = bytes;
        if (bytes.empty() || !read_resp(rest)) return std::nullopt;
        return bytes.size() - rest.size();
    }
    std::size_t replies_to(std::string_view request) override {
        const auto words = words_of(request);
        if (!is_subscription(words)) return 1;
        subscribed_ = true;
        // One reply for each channel.
        return std::max<std::size_t>(words.size() - 1, 1);
    }
    bool is_push(std::string_view reply) override {
        const auto value = read_resp(reply);
        if (!value || value->parts.empty()) return false;
        const std::string& kind = value->parts.front().text;
        if (value->type == '>') return !kind.ends_with("subscribe");
        return subscribed_ && value->type == '*' &&
               (kind == "message" || kind == "pmessage" || kind == "smessage");
    }

private:
    bool subscribed_ = false;
};

std::int32_t number_at(std::string_view bytes, std::size_t place) {
    std::uint32_t number = 0;
    for (const char byte : bytes.substr(place, 4)) {
        number = number << 8U | static_cast<unsigned char>(byte);
    }
    return static_cast<std::int32_t>(number);
}

/// Records behind their lengths. The first of each side is about the session and has no number.
class ZookeeperProtocol final : public ProxyProtocol {
public:
    std::optional<std::size_t> size_of_first(std::string_view bytes) const override {
        if (bytes.size() < 4) return std::nullopt;
        const auto size = static_cast<std::size_t>(number_at(bytes, 0)) + 4;
        return bytes.size() < size ? std::nullopt : std::optional(size);
    }
    std::size_t replies_to(std::string_view) override { return 1; }
    bool is_push(std::string_view reply) override {
        if (!answered_) {
            answered_ = true;
            return false;
        }
        return reply.size() >= 8 && number_at(reply, 4) == -1;
    }

private:
    bool answered_ = false;
};

}  // namespace

std::unique_ptr<ProxyProtocol> redis_protocol() {
    return std::make_unique<RedisProtocol>();
}

std::unique_ptr<ProxyProtocol> zookeeper_protocol() {
    return std::make_unique<ZookeeperProtocol>();
}

std::optional<ZookeeperVerb> zookeeper_verb(std::string_view request) {
    // That of a session begins with the protocol's version, which is nought, where others have a
    // number of their own.
    if (request.size() < 12 || number_at(request, 4) == 0) return std::nullopt;
    return static_cast<ZookeeperVerb>(number_at(request, 8));
}

}  // namespace holdfast::test
