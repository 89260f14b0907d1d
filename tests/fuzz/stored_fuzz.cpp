#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/duration.hpp"
#include "port/admission.hpp"
#include "property.hpp"
#include "stores/listed/note.hpp"
#include "stores/memcached/item.hpp"
#include "stores/net/secret.hpp"
#include "stores/scripted/news.hpp"
#include "stores/scripted/words.hpp"
#include "stores/zookeeper/line_nodes.hpp"

/// What somebody may have written where we look for what is ours: nodes' names, notes, items,
/// pushes, names in keys. And a duration, as somebody may have typed it.
namespace holdfast::fuzz {
namespace {

std::vector<std::string> lines_of(std::string_view bytes) {
    std::vector<std::string> lines;
    while (!bytes.empty()) {
        const std::size_t end = std::min(bytes.find('\n'), bytes.size());
        lines.emplace_back(bytes.substr(0, end));
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    return lines;
}

void expect_a_share(std::uint64_t weight, std::uint64_t capacity) {
    expect(weight > 0 && weight <= capacity && capacity <= all,
           "a share is a part of what there is");
}

void read_note(std::string_view bytes) {
    const auto note = listed::note_in(bytes);
    if (note) expect_a_share(note->weight, note->capacity);
    const auto place = listed::place_of("orders", {}, 1, std::string(bytes));
    expect(place.foreign == !note, "what is no note is somebody else's");
    // As it is shown.
    static_cast<void>(cli::show_duration(place.lease_left));
}

std::vector<std::string> nodes_of(const std::vector<zookeeper::Neighbour>& line) {
    std::vector<std::string> nodes;
    for (const auto& one : line) nodes.push_back(one.node);
    return nodes;
}

void read_children(std::string_view bytes) {
    auto children = lines_of(bytes);
    std::ranges::sort(children);
    children.erase(std::unique(children.begin(), children.end()), children.end());
    const auto line = zookeeper::line_in("/orders", children);
    for (const auto& one : line) expect_a_share(one.weight, one.capacity);
    std::ranges::reverse(children);
    expect(nodes_of(zookeeper::line_in("/orders", children)) == nodes_of(line),
           "the order of a line is not that of a list");
}

void read_item(std::string_view bytes) {
    const auto place = memcached::place_in("orders", bytes, {});
    expect(place.foreign == !memcached::nonce_in(bytes), "what has no nonce is somebody else's");
}

void read_words(std::string_view bytes) {
    for (const auto digits : {scripted::Digits::lower, scripted::Digits::upper}) {
        const auto name = scripted::unescaped(bytes, digits);
        if (name) {
            expect(scripted::unescaped(scripted::escaped(*name, digits), digits) == name,
                   "a name that was read is written and read again");
        }
        expect(scripted::unescaped(scripted::escaped(bytes, digits), digits) == bytes,
               "a name is read as it was written");
    }
    const auto news = scripted::news_in(std::string(bytes));
    if (!news.standing.look_again) return;
    expect(news.standing.look_again->count() >= 0, "nobody looks in the past");
}

void quote(std::string_view bytes) {
    const std::string text = net::quotable(bytes);
    expect(text.size() <= 4 * 300 + 3, "nobody quotes more than one reads");
    expect(std::ranges::none_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; }),
           "a quotation steers nothing");
    const std::string secret = "S3cr3t-of-somebody";
    const std::string whole = std::string(bytes.substr(0, 50)) + secret;
    expect(net::without_secret(whole, secret).find(secret) == std::string::npos,
           "a secret is not quoted");
}

void read_duration(std::string_view bytes) {
    const auto duration = cli::parse_duration(bytes);
    if (!duration) return;
    expect(duration->count() >= 0, "a duration is not negative");
    static_cast<void>(cli::show_age(*duration));
    expect(!cli::show_duration(*duration).empty(), "a duration can be shown");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::fuzz;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    read_note(bytes);
    read_children(bytes);
    read_item(bytes);
    read_words(bytes);
    quote(bytes);
    read_duration(bytes);
    return 0;
}
