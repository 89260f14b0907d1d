#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The bytes that ZooKeeper speaks: big-endian numbers, and texts behind their lengths.
namespace holdfast::inline v0::zookeeper {

/// Writes one record, field by field.
class RecordWriter {
public:
    RecordWriter& number(std::int32_t value);
    RecordWriter& long_number(std::int64_t value);
    RecordWriter& flag(bool value);
    RecordWriter& text(std::string_view value);
    RecordWriter& texts(const std::vector<std::string>& values);

    std::string take() && { return std::move(bytes_); }

private:
    std::string bytes_;
};

/// Reads one record. Throws Error with errc::corrupt when it has less, or other things, than it is
/// asked for: the server, or whoever it is, does not speak ZooKeeper's protocol.
class RecordReader {
public:
    explicit RecordReader(std::string_view bytes) : rest_(bytes) {}

    std::int32_t number();
    std::int64_t long_number();
    bool flag();
    std::string text();
    std::vector<std::string> texts();
    std::string_view rest() const noexcept { return rest_; }

private:
    std::string_view take(std::size_t size);
    std::uint64_t big_endian(std::size_t size);

    std::string_view rest_;
};

/// Appends a record as it goes over the wire: behind its length.
void append_frame(std::string& bytes, std::string_view record);

/// Puts together the records that arrive in pieces.
class FrameReader {
public:
    void feed(std::string_view bytes) { buffer_ += bytes; }
    /// The next whole one. Throws Error with errc::corrupt when its length cannot be one.
    std::optional<std::string> next();

private:
    std::string buffer_;
    std::size_t taken_ = 0;
};

}  // namespace holdfast::inline v0::zookeeper
