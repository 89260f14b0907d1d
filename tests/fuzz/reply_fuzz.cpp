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
#include "stores/redis/reply.hpp"

namespace holdfast::fuzz {
namespace {

using redis::Reply;
using redis::ReplyReader;

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
    reader.feed(bytes);
    take_what_is_there(reader, result);
    return result;
}

void write(const Reply& reply, std::string& wire) {
    switch (reply.kind) {
        case Reply::Kind::nil:
            wire += "$-1\r\n";
            break;
        case Reply::Kind::status:
            wire += "+" + reply.text + "\r\n";
            break;
        case Reply::Kind::error:
            wire += "-" + reply.text + "\r\n";
            break;
        case Reply::Kind::integer:
            wire += ":" + std::to_string(reply.integer) + "\r\n";
            break;
        case Reply::Kind::text:
            wire += "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
            break;
        case Reply::Kind::array:
            wire += "*" + std::to_string(reply.elements.size()) + "\r\n";
            for (const Reply& element : reply.elements) write(element, wire);
            break;
    }
}

std::string written(const std::vector<Reply>& replies) {
    std::string wire;
    for (const Reply& reply : replies) write(reply, wire);
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
