#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::inline v0::redis {

/// A Lua script and the digest by which the server knows it.
class Script {
public:
    explicit Script(std::string_view text);

    std::string_view text() const noexcept { return text_; }
    const std::string& digest() const noexcept { return digest_; }

private:
    std::string_view text_;
    std::string digest_;
};

/// One request to the server.
class Command {
public:
    Command(std::initializer_list<std::string_view> words) {
        for (const std::string_view word : words) *this << word;
    }
    /// Runs a script, by its digest. The script must outlive the command.
    Command(const Script& script, const std::vector<std::string>& keys);

    Command& operator<<(std::string_view word);
    Command& operator<<(std::uint64_t number);

    /// Brings the script's text along from now on: the server did not know its digest.
    void by_text() noexcept { brings_text_ = true; }
    /// Whether it still relies on what the server remembers.
    bool by_digest() const noexcept { return script_ != nullptr && !brings_text_; }

    void append_to(std::string& bytes) const;

private:
    const Script* script_ = nullptr;
    bool brings_text_ = false;
    std::size_t words_ = 0;  ///< without those that name the script
    std::string bytes_;      ///< of these words, as they are sent
};

}  // namespace holdfast::inline v0::redis
