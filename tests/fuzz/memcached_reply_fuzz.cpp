#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "property.hpp"
#include "stores/memcached/reply.hpp"

namespace holdfast::fuzz {
namespace {

using memcached::Reply;
using memcached::ReplyReader;

/// What came out of a reader.
struct Conversation {
    std::vector<Reply> replies;
    /// Why it ended, if what came in was not the protocol.
    std::string breach;

    bool operator==(const Conversation&) const = default;
};

/// What the reader throws beside an Error ends the run.
void take_what_is_there(ReplyReader& reader, Conversation& so_far) {
    try {
        while (auto reply = reader.next()) so_far.replies.push_back(std::move(*reply));
        expect(so_far.breach.empty(), "a reader that has met a breach does not go on");
    } catch (const Error& error) {
        expect(error.code() == errc::corrupt, "a breach of the protocol is corrupt");
        so_far.breach = error.what();
        expect(!so_far.breach.empty(), "a breach has a sentence");
    }
}

Conversation in_one_piece(std::string_view bytes) {
    ReplyReader reader;
    Conversation result;
    reader.feed(bytes);
    take_what_is_there(reader, result);
    return result;
}

/// In pieces of random sizes, which are the same for the same bytes.
Conversation in_pieces(std::string_view bytes) {
    std::minstd_rand random(static_cast<unsigned>(std::hash<std::string_view>{}(bytes)));
    std::uniform_int_distribution<std::size_t> size(0, 8);
    ReplyReader reader;
    Conversation result;
    while (!bytes.empty() && result.breach.empty()) {
        // A copy of its own, so that a look behind its end is seen.
        const std::string piece(bytes.substr(0, size(random)));
        bytes.remove_prefix(piece.size());
        reader.feed(piece);
        take_what_is_there(reader, result);
    }
    return result;
}

std::string word_of(Reply::Kind kind) {
    switch (kind) {
        case Reply::Kind::done:
            return "HD";
        case Reply::Kind::not_stored:
            return "NS";
        case Reply::Kind::changed:
            return "EX";
        case Reply::Kind::missing:
            return "EN";
        case Reply::Kind::alive:
            return "MN";
        case Reply::Kind::stored:
            return "STORED";
        default:
            return "";
    }
}

std::string written(const Reply& reply) {
    if (reply.kind == Reply::Kind::error) return reply.text + "\r\n";
    if (reply.kind == Reply::Kind::version) return "VERSION " + reply.text + "\r\n";
    const bool is_value = reply.kind == Reply::Kind::value;
    std::string line = is_value ? "VA " + std::to_string(reply.text.size()) : word_of(reply.kind);
    line += " c" + std::to_string(reply.cas);
    if (reply.seconds) line += " t" + std::to_string(*reply.seconds);
    if (reply.number) line += " O" + std::to_string(*reply.number);
    line += "\r\n";
    return is_value ? line + reply.text + "\r\n" : line;
}

std::string written(const std::vector<Reply>& replies) {
    std::string wire;
    for (const Reply& reply : replies) wire += written(reply);
    return wire;
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::fuzz;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Conversation whole = in_one_piece(bytes);
    expect(in_pieces(bytes) == whole, "it does not matter in which pieces replies come");
    const Conversation again = in_one_piece(written(whole.replies));
    expect(again.breach.empty(), "what was read can be written");
    expect(again.replies == whole.replies, "what was read and written is read again");
    return 0;
}
