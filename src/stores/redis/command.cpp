#include "stores/redis/command.hpp"

#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <new>

namespace holdfast::inline v0::redis {

namespace {

std::string sha1(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
        throw std::bad_alloc();
    }
    static constexpr char digits[] = "0123456789abcdef";
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
        hex += digits[digest[i] >> 4U];
        hex += digits[digest[i] & 0xfU];
    }
    return hex;
}

/// Of an enter with names of usual length.
constexpr std::size_t usual_size = 480;

/// "$13\r\n": what comes before the words of a command, or before one of them.
class Header {
public:
    Header(char kind, std::size_t count) : text_{kind} {
        end_ = std::to_chars(text_.begin() + 1, text_.end(), count).ptr;
        *end_++ = '\r';
        *end_++ = '\n';
    }
    std::string_view text() const { return {text_.begin(), end_}; }

private:
    std::array<char, 24> text_;
    char* end_;
};

// hiredis has this too, but prints each number with sprintf: a third of all that was executed in
// this process for a request.
void append_word(std::string& bytes, std::string_view word) {
    bytes += Header('$', word.size()).text();
    bytes += word;
    bytes += "\r\n";
}

}  // namespace

Script::Script(std::string_view text) : text_(text), digest_(sha1(text)) {}

Command::Command(const Script& script, const std::vector<std::string>& keys) : script_(&script) {
    bytes_.reserve(usual_size);
    *this << keys.size();
    for (const std::string& key : keys) *this << key;
}

Command& Command::operator<<(std::string_view word) {
    append_word(bytes_, word);
    ++words_;
    return *this;
}

Command& Command::operator<<(std::uint64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return *this << std::string_view(digits.begin(), end);
}

void Command::append_to(std::string& bytes) const {
    bytes += Header('*', words_ + (script_ == nullptr ? 0 : 2)).text();
    if (script_ != nullptr) {
        append_word(bytes, brings_text_ ? "EVAL" : "EVALSHA");
        append_word(bytes, brings_text_ ? script_->text() : script_->digest());
    }
    bytes += bytes_;
}

}  // namespace holdfast::inline v0::redis
