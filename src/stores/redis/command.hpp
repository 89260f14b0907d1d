#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"

namespace holdfast::inline v0::redis {

/// A Lua script and the digest by which the server knows it.
class Script {
public:
    explicit Script(std::string_view text);
    /// One that can be run together with others by `together`, where it has this name, when it is
    /// given so many keys.
    Script(std::string_view text, const Script& together, std::string_view name, std::size_t keys);

    std::string_view text() const noexcept { return text_; }
    const std::string& digest() const noexcept { return digest_; }
    /// The words that ask for it by its digest, as they are sent.
    const std::string& words() const noexcept { return words_; }
    /// Null when it is run alone only.
    const Script* together() const noexcept { return together_; }
    /// Its name there, as it is sent.
    const std::string& name() const noexcept { return name_; }
    std::size_t keys_together() const noexcept { return keys_together_; }

private:
    std::string_view text_;
    std::string digest_;
    std::string words_;
    const Script* together_ = nullptr;
    std::string name_;
    std::size_t keys_together_ = 0;
};

/// One request to the server.
class Command {
public:
    Command(std::initializer_list<std::string_view> words) {
        for (const std::string_view word : words) *this << word;
    }
    /// Runs a script, by its digest; so many keys come next. The script must outlive the command.
    Command(const Script& script, std::size_t keys);

    Command& operator<<(std::string_view word);
    Command& operator<<(std::int64_t number);
    Command& operator<<(std::uint64_t number);
    /// 32 hexadecimal digits.
    Command& operator<<(const Nonce& nonce);

    /// Brings the script's text along from now on: the server did not know its digest.
    void by_text() noexcept { brings_text_ = true; }
    /// Whether it still relies on what the server remembers.
    bool by_digest() const noexcept { return script_ != nullptr && !brings_text_; }

    void append_to(std::string& bytes) const;
    /// Its words, without those that name the script.
    std::vector<std::string_view> words() const;
    /// Of a script's command: the first key; nothing when it has none.
    std::optional<std::string_view> first_key() const;

    /// The script that can run it together with others; null when there is none.
    const Script* together() const noexcept;
    /// Several that have the same, as one request. It answers with an array of what they would.
    static void append_together(std::span<const Command* const> commands, bool by_text,
                                std::string& bytes);

private:
    char* begin_word(std::size_t size);
    void end_word(char* end);

    const Script* script_ = nullptr;
    bool brings_text_ = false;
    std::size_t words_ = 0;  ///< without those that name the script
    std::size_t keys_ = 0;   ///< of a script
    // Where they begin and end.
    std::size_t keys_begin_ = 0;
    std::size_t keys_end_ = 0;
    // These words, as they are sent. By pointer, for a string that grows word by word is most of
    // what there is to do for a request.
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace holdfast::inline v0::redis
