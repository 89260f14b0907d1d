#include "stores/redis/command.hpp"

#include <hiredis/hiredis.h>
#include <openssl/evp.h>

#include <array>
#include <memory>
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

}  // namespace

Script::Script(std::string_view text) : text_(text), digest_(sha1(text)) {}

Command::Command(const Script& script, const std::vector<std::string>& keys) : script_(&script) {
    words_.reserve(16);
    words_.insert(words_.end(), {"EVALSHA", script.digest(), std::to_string(keys.size())});
    words_.insert(words_.end(), keys.begin(), keys.end());
}

void Command::by_text() {
    words_[0] = "EVAL";
    words_[1] = script_->text();
    brings_text_ = true;
}

void Command::append_to(std::string& bytes) const {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    texts.reserve(words_.size());
    sizes.reserve(words_.size());
    for (const std::string& word : words_) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* formatted = nullptr;
    const int size = redisFormatCommandArgv(&formatted, static_cast<int>(words_.size()),
                                            texts.data(), sizes.data());
    if (size < 0) throw std::bad_alloc();
    const std::unique_ptr<char, decltype(&redisFreeCommand)> owned(formatted, redisFreeCommand);
    bytes.append(formatted, static_cast<std::size_t>(size));
}

}  // namespace holdfast::inline v0::redis
