#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "property.hpp"
#include "stores/zookeeper/jute.hpp"
#include "stores/zookeeper/operations.hpp"

/// What a ZooKeeper server, or whoever it is, may send.
namespace holdfast::fuzz {
namespace {

using zookeeper::FrameReader;

struct Frames {
    std::vector<std::string> records;
    bool broken = false;

    bool operator==(const Frames&) const = default;
};

void take_what_is_there(FrameReader& reader, Frames& so_far) {
    try {
        while (auto record = reader.next()) so_far.records.push_back(std::move(*record));
    } catch (const Error& error) {
        expect(error.code() == errc::corrupt, "a breach of the protocol is corrupt");
        so_far.broken = true;
    }
}

Frames in_one_piece(std::string_view bytes) {
    FrameReader reader;
    Frames frames;
    reader.feed(bytes);
    take_what_is_there(reader, frames);
    return frames;
}

/// In pieces of random sizes, which are the same for the same bytes.
Frames in_pieces(std::string_view bytes) {
    std::minstd_rand random(static_cast<unsigned>(std::hash<std::string_view>{}(bytes)));
    std::uniform_int_distribution<std::size_t> size(0, 9);
    FrameReader reader;
    Frames frames;
    while (!bytes.empty() && !frames.broken) {
        // A copy of its own, so that a look behind its end is seen.
        const std::string piece(bytes.substr(0, size(random)));
        bytes.remove_prefix(piece.size());
        reader.feed(piece);
        take_what_is_there(reader, frames);
    }
    return frames;
}

/// Each way to read a record ends with a value, or with an Error that says what is wrong.
template <class Read>
void is_read_or_refused(Read read) {
    try {
        static_cast<void>(read());
    } catch (const Error& error) {
        expect(error.code() == errc::corrupt, "a record that is none is corrupt");
        expect(!std::string_view(error.what()).empty(), "and has a sentence");
    }
}

void read_in_every_way(const std::string& record) {
    is_read_or_refused([&] { return zookeeper::session_answer(record); });
    is_read_or_refused([&] { return zookeeper::incoming(record); });
    const zookeeper::Reply reply{.record = record};
    is_read_or_refused([&] { return reply.made(); });
    is_read_or_refused([&] { return reply.children(); });
    is_read_or_refused([&] { return reply.listing(); });
    is_read_or_refused([&] { return reply.content(); });
    is_read_or_refused([&] { return reply.stat(); });
    is_read_or_refused([&] { return zookeeper::event_of(reply); });
}

void expect_written_is_read(const std::string& text) {
    zookeeper::RecordWriter writer;
    writer.text(text).number(-1).texts({text, "", text}).flag(true);
    std::string bytes;
    zookeeper::append_frame(bytes, std::move(writer).take());
    const auto frames = in_pieces(bytes);
    expect(frames.records.size() == 1, "what was written is one record");
    zookeeper::RecordReader reader(frames.records.front());
    expect(reader.text() == text && reader.number() == -1, "and is read as it was");
    expect(reader.texts() == std::vector<std::string>{text, "", text}, "texts too");
    expect(reader.flag() && reader.rest().empty(), "to its end");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::fuzz;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Frames whole = in_one_piece(bytes);
    expect(whole == in_pieces(bytes), "how bytes arrive changes nothing");
    for (const std::string& record : whole.records) read_in_every_way(record);
    read_in_every_way(std::string(bytes));
    expect_written_is_read(std::string(bytes));
    return 0;
}
