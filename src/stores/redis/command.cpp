#include "stores/redis/command.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <new>

#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::redis {

namespace {

std::string sha1(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
        throw std::bad_alloc();
    }
    return scripted::hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

/// Of an enter with names of usual length.
constexpr std::size_t usual_size = 640;

/// "$13\r\n": comes before a word, and with a star before all words.
constexpr std::size_t longest_header = 24;

char* write_header(char* to, char kind, std::size_t count) {
    *to++ = kind;
    if (count < 10) {
        *to++ = static_cast<char>('0' + count);
    } else {
        to = std::to_chars(to, to + longest_header, count).ptr;
    }
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

void append_header(std::string& bytes, char kind, std::size_t count) {
    std::array<char, longest_header> header;
    bytes.append(header.data(), write_header(header.data(), kind, count));
}

void append_word(std::string& bytes, std::string_view word) {
    append_header(bytes, '$', word.size());
    bytes += word;
    bytes += "\r\n";
}

std::string words_for(std::string_view command, std::string_view script) {
    std::string words;
    append_word(words, command);
    append_word(words, script);
    return words;
}

/// What a script's first line says of it: "#!lua flags=allow-oom" -> "allow-oom".
std::string_view flags_in(std::string_view first_line) {
    constexpr std::string_view before = " flags=";
    const auto found = first_line.find(before);
    return found == std::string_view::npos ? "" : first_line.substr(found + before.size());
}

/// The same as words of Lua: "'allow-oom'".
std::string quoted(std::string_view flags) {
    std::string words;
    while (!flags.empty()) {
        const auto comma = std::min(flags.find(','), flags.size());
        words += "'" + std::string(flags.substr(0, comma)) + "', ";
        flags.remove_prefix(std::min(comma + 1, flags.size()));
    }
    return words;
}

}  // namespace

Script::Script(std::string_view text)
    : text_(text),
      digest_(sha1(text)),
      words_by_function_(words_for("FCALL", function())),
      words_by_digest_(words_for("EVALSHA", digest_)) {}

std::string Script::library() const {
    const bool says_what_it_is = text_.starts_with("#!");
    const auto end = says_what_it_is ? text_.find('\n') : 0;
    return "#!lua name=" + function() + "\nredis.register_function{function_name='" + function() +
           "', flags={" + quoted(flags_in(text_.substr(0, end))) +
           "}, callback=function(KEYS, ARGV)\n" + std::string(text_.substr(end)) + "\nend}";
}

void Script::append_words(Way way, std::string& bytes) const {
    switch (way) {
        case Way::function:
            bytes += words_by_function_;
            break;
        case Way::digest:
            bytes += words_by_digest_;
            break;
        case Way::text:
            bytes += words_for("EVAL", text_);
    }
}

Script::Script(std::string_view text, const Script& together, std::string_view name,
               std::size_t keys)
    : Script(text) {
    together_ = &together;
    keys_together_ = keys;
    append_word(name_, name);
}

Command::Command(const Script& script, std::size_t keys) : script_(&script), keys_(keys) {
    *this << keys;
    keys_begin_ = size_;
}

/// Room for a word of at most `size` bytes, and where to write it once its header stands there.
char* Command::begin_word(std::size_t size) {
    const std::size_t needed = size_ + longest_header + size + 2;
    if (needed > capacity_) {
        const std::size_t capacity = std::max(2 * needed, usual_size);
        auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
        std::copy_n(bytes_.get(), size_, bytes.get());
        bytes_ = std::move(bytes);
        capacity_ = capacity;
    }
    ++words_;
    return write_header(bytes_.get() + size_, '$', size);
}

void Command::end_word(char* end) {
    *end++ = '\r';
    *end++ = '\n';
    size_ = static_cast<std::size_t>(end - bytes_.get());
    if (words_ == 1 + keys_) keys_end_ = size_;
}

Command& Command::operator<<(std::string_view word) {
    end_word(std::ranges::copy(word, begin_word(word.size())).out);
    return *this;
}

Command& Command::join(std::string_view first, std::string_view second) {
    char* const to = begin_word(first.size() + second.size());
    end_word(std::ranges::copy(second, std::ranges::copy(first, to).out).out);
    return *this;
}

Command& Command::operator<<(std::uint64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return *this << std::string_view(digits.begin(), end);
}

Command& Command::operator<<(std::int64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return *this << std::string_view(digits.begin(), end);
}

Command& Command::operator<<(const Nonce& nonce) {
    end_word(scripted::write_hex(nonce, begin_word(2 * nonce.bytes.size())));
    return *this;
}

Command& Command::with_run() {
    char* const to = begin_word(run_digits);
    run_begins_ = static_cast<std::size_t>(to - bytes_.get());
    end_word(std::fill_n(to, run_digits, '0'));
    return *this;
}

void Command::sign(std::string_view run) {
    assert(run.size() == run_digits);
    if (run_begins_) std::ranges::copy(run, bytes_.get() + *run_begins_);
}

void Command::append_to(std::string& bytes) const {
    append_header(bytes, '*', words_ + (script_ == nullptr ? 0 : 2));
    if (script_ != nullptr) script_->append_words(way_, bytes);
    bytes.append(bytes_.get(), size_);
}

namespace {

/// The next of the words, as they are sent: "$3\r\nSET\r\n".
std::string_view next_word(std::string_view& rest) {
    std::size_t size = 0;
    const char* const digits = rest.data() + 1;
    const char* const end = std::from_chars(digits, rest.data() + rest.size(), size).ptr;
    const auto begin = static_cast<std::size_t>(end - rest.data()) + 2;
    const std::string_view word = rest.substr(begin, size);
    rest.remove_prefix(begin + size + 2);
    return word;
}

}  // namespace

std::vector<std::string_view> Command::words() const {
    std::vector<std::string_view> words;
    std::string_view rest(bytes_.get(), size_);
    while (!rest.empty()) words.push_back(next_word(rest));
    return words;
}

std::optional<std::string_view> Command::first_key() const {
    if (script_ == nullptr) return std::nullopt;
    std::string_view rest(bytes_.get(), size_);
    if (next_word(rest) == "0") return std::nullopt;
    return next_word(rest);
}

const Script* Command::together() const noexcept {
    const bool may = script_ != nullptr && keys_ == script_->keys_together();
    return may ? script_->together() : nullptr;
}

Way Command::way_together(std::span<const Command* const> commands) {
    Way way = Way::function;
    for (const Command* command : commands) way = std::max(way, command->way_);
    return way;
}

void Command::append_together(std::span<const Command* const> commands, std::string& bytes) {
    // The script's two words, the number of keys and that of commands; in place of the number of
    // keys that each of them has, its name.
    std::size_t words = 4;
    std::size_t keys = 0;
    for (const Command* command : commands) {
        words += command->words_;
        keys += command->keys_;
    }
    append_header(bytes, '*', words);
    commands.front()->together()->append_words(way_together(commands), bytes);
    append_word(bytes, std::to_string(keys));
    for (const Command* command : commands) {
        bytes.append(command->bytes_.get() + command->keys_begin_,
                     command->bytes_.get() + command->keys_end_);
    }
    append_word(bytes, std::to_string(commands.size()));
    for (const Command* command : commands) {
        bytes += command->script_->name();
        bytes.append(command->bytes_.get() + command->keys_end_,
                     command->bytes_.get() + command->size_);
    }
}

}  // namespace holdfast::inline v0::redis
