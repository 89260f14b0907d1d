#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "support/proxy_protocol.hpp"

namespace holdfast::test {

namespace {

std::vector<std::string_view> words_in(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

/// Of what follows the line: an item's value, of a request or of a reply.
std::optional<std::size_t> size_of_value(const std::vector<std::string_view>& words) {
    const auto number = [&](std::size_t place) {
        std::size_t size = 0;
        const std::string_view digits = place < words.size() ? words[place] : "0";
        std::from_chars(digits.data(), digits.data() + digits.size(), size);
        return size;
    };
    if (words.empty()) return std::nullopt;
    if (words[0] == "VA") return number(1);
    if (words[0] == "ms") return number(2);
    if (words[0] == "set") return number(4);
    return std::nullopt;
}

/// Lines, some with a value behind them; each request has one reply.
class MemcachedProtocol final : public ProxyProtocol {
public:
    std::optional<std::size_t> size_of_first(std::string_view bytes) const override {
        const std::size_t end = bytes.find("\r\n");
        if (end == std::string_view::npos) return std::nullopt;
        std::size_t size = end + 2;
        if (const auto value = size_of_value(words_in(bytes.substr(0, end)))) size += *value + 2;
        return bytes.size() < size ? std::nullopt : std::optional(size);
    }
    std::size_t replies_to(std::string_view /*request*/) override { return 1; }
    bool is_push(std::string_view /*reply*/) override { return false; }
};

}  // namespace

std::unique_ptr<ProxyProtocol> memcached_protocol() {
    return std::make_unique<MemcachedProtocol>();
}

std::optional<MemcachedVerb> memcached_verb(std::string_view request) {
    const auto words = words_in(request.substr(0, request.find("\r\n")));
    if (words.empty()) return std::nullopt;
    if (words[0] == "mg") return MemcachedVerb::look;
    if (words[0] == "md") return MemcachedVerb::remove;
    if (words[0] != "ms") return std::nullopt;
    return std::ranges::find(words, "ME") != words.end() ? MemcachedVerb::add
                                                         : MemcachedVerb::replace;
}

}  // namespace holdfast::test
