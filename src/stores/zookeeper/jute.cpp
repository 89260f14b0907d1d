#include "stores/zookeeper/jute.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::zookeeper {

namespace {

/// Far above what a server sends with its own limit (jute.maxbuffer, 1 MiB unless it is raised).
constexpr std::size_t largest_frame = std::size_t{64} << 20U;

[[noreturn]] void refuse(const char* what) {
    throw Error(errc::corrupt, std::string("ZooKeeper's protocol: ") + what);
}

void append_big_endian(std::string& bytes, std::uint64_t value, std::size_t size) {
    for (std::size_t i = size; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xffU);
}

}  // namespace

RecordWriter& RecordWriter::number(std::int32_t value) {
    append_big_endian(bytes_, static_cast<std::uint32_t>(value), 4);
    return *this;
}

RecordWriter& RecordWriter::long_number(std::int64_t value) {
    append_big_endian(bytes_, static_cast<std::uint64_t>(value), 8);
    return *this;
}

RecordWriter& RecordWriter::flag(bool value) {
    bytes_ += value ? '\1' : '\0';
    return *this;
}

RecordWriter& RecordWriter::text(std::string_view value) {
    number(static_cast<std::int32_t>(value.size()));
    bytes_ += value;
    return *this;
}

RecordWriter& RecordWriter::texts(const std::vector<std::string>& values) {
    number(static_cast<std::int32_t>(values.size()));
    for (const std::string& value : values) text(value);
    return *this;
}

std::string_view RecordReader::take(std::size_t size) {
    if (size > rest_.size()) refuse("a record ends too early");
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
}

std::uint64_t RecordReader::big_endian(std::size_t size) {
    std::uint64_t value = 0;
    for (const char byte : take(size)) value = value << 8U | static_cast<unsigned char>(byte);
    return value;
}

std::int32_t RecordReader::number() {
    return static_cast<std::int32_t>(big_endian(4));
}

std::int64_t RecordReader::long_number() {
    return static_cast<std::int64_t>(big_endian(8));
}

bool RecordReader::flag() {
    return take(1).front() != '\0';
}

std::string RecordReader::text() {
    const std::int32_t size = number();
    // A text that is not there is written as this.
    if (size == -1) return {};
    if (size < 0) refuse("a text with a negative length");
    return std::string(take(static_cast<std::size_t>(size)));
}

std::vector<std::string> RecordReader::texts() {
    const std::int32_t count = number();
    std::vector<std::string> values;
    // Not for what may be announced and never come: each has its length at least.
    const auto most = rest_.size() / 4;
    values.reserve(std::min(static_cast<std::size_t>(std::max(count, 0)), most));
    for (std::int32_t i = 0; i < count; ++i) values.push_back(text());
    return values;
}

void append_frame(std::string& bytes, std::string_view record) {
    append_big_endian(bytes, record.size(), 4);
    bytes += record;
}

std::optional<std::string> FrameReader::next() {
    const std::string_view rest = std::string_view(buffer_).substr(taken_);
    if (rest.size() < 4) return std::nullopt;
    const auto size = static_cast<std::uint32_t>(RecordReader(rest).number());
    if (size > largest_frame) refuse("a record that is too long to be one");
    if (rest.size() - 4 < size) {
        // Moved only now and then, not for every record.
        buffer_.erase(0, std::exchange(taken_, 0));
        return std::nullopt;
    }
    taken_ += 4 + size;
    std::string frame(rest.substr(4, size));
    if (taken_ == buffer_.size()) buffer_.erase(0, std::exchange(taken_, 0));
    return frame;
}

}  // namespace holdfast::inline v0::zookeeper
