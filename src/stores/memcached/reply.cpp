#include "stores/memcached/reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::memcached {

namespace {

using Kind = Reply::Kind;

constexpr std::string_view line_end = "\r\n";
/// A key, its flags, or a sentence: nothing that is answered has a longer line.
constexpr std::size_t longest_line = 4096;
/// Somebody else's item may be large, and must be read to be known as somebody else's.
constexpr std::size_t longest_value = 128U << 20U;

[[noreturn]] void refuse(std::string_view what) {
    throw Error(errc::corrupt, std::string(what));
}

template <class Number>
Number number_in(std::string_view digits) {
    Number number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || stopped != end) refuse("a number that is none");
    return number;
}

/// Up to the next space, which goes with it.
std::string_view take_word(std::string_view& line) {
    const std::size_t size = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, size);
    line.remove_prefix(std::min(size + 1, line.size()));
    return word;
}

struct Code {
    std::string_view word;
    Kind kind;
};
constexpr std::array codes{Code{"HD", Kind::done},       Code{"VA", Kind::value},
                           Code{"NS", Kind::not_stored}, Code{"EX", Kind::changed},
                           Code{"NF", Kind::missing},    Code{"EN", Kind::missing},
                           Code{"MN", Kind::alive},      Code{"STORED", Kind::stored}};

/// Whether it says that nothing was done, and why.
bool is_error(std::string_view word) {
    return word == "ERROR" || word == "CLIENT_ERROR" || word == "SERVER_ERROR";
}

/// Flags that nobody asked for mean nothing to us.
void read_flag(std::string_view flag, Reply& reply) {
    if (flag.empty()) return;
    const std::string_view token = flag.substr(1);
    switch (flag.front()) {
        case 'c':
            reply.cas = number_in<std::uint64_t>(token);
            break;
        case 't':
            reply.seconds = number_in<std::int64_t>(token);
            break;
        case 'O':
            reply.number = number_in<std::uint64_t>(token);
            break;
        default:
            break;
    }
}

/// What a line says, and how many bytes of a value follow it.
std::pair<Reply, std::optional<std::size_t>> reply_in(std::string_view line) {
    Reply reply;
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (is_error(word)) return {Reply{.kind = Kind::error, .text = std::string(line)}, {}};
    if (word == "VERSION") return {Reply{.kind = Kind::version, .text = std::string(rest)}, {}};
    const auto code = std::ranges::find(codes, word, &Code::word);
    if (code == codes.end()) refuse("an answer that no command has");
    reply.kind = code->kind;
    std::optional<std::size_t> size;
    if (reply.kind == Kind::value) size = number_in<std::size_t>(take_word(rest));
    while (!rest.empty()) read_flag(take_word(rest), reply);
    return {std::move(reply), size};
}

}  // namespace

void ReplyReader::feed(std::string_view bytes) {
    // What is done with leaves the room to what comes.
    bytes_.erase(0, std::exchange(read_, 0));
    bytes_.append(bytes);
}

std::optional<Reply> ReplyReader::next() {
    if (broken_) refuse("it has broken the protocol before");
    try {
        return first();
    } catch (const Error&) {
        broken_ = true;
        throw;
    }
}

std::optional<Reply> ReplyReader::first() {
    const std::string_view unread = std::string_view(bytes_).substr(read_);
    if (unread.empty()) return std::nullopt;
    const std::size_t end = unread.substr(0, longest_line).find(line_end);
    if (end == std::string_view::npos) {
        if (unread.size() >= longest_line) refuse("a line without an end");
        return std::nullopt;
    }
    auto [reply, size] = reply_in(unread.substr(0, end));
    std::size_t used = end + line_end.size();
    if (size) {
        if (*size > longest_value) refuse("a value larger than any");
        const std::string_view behind = unread.substr(used);
        if (behind.size() < *size + line_end.size()) return std::nullopt;
        if (behind.substr(*size, line_end.size()) != line_end) refuse("a value without an end");
        reply.text = behind.substr(0, *size);
        used += *size + line_end.size();
    }
    read_ += used;
    return std::move(reply);
}

}  // namespace holdfast::inline v0::memcached
