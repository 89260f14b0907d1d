#pragma once

#include <algorithm>
#include <chrono>
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

/// How a server is asked for a script; a later one works where an earlier one does not.
enum class Way : std::uint8_t {
    function,  ///< which it keeps, also over a restart, once it was given the library
    digest,    ///< of a text that it has seen since its start
    text,
};

/// A Lua script, and what a server knows it by.
class Script {
public:
    explicit Script(std::string_view text);
    /// One that can be run together with others by `together`, where it has this name, when it is
    /// given so many keys.
    Script(std::string_view text, const Script& together, std::string_view name, std::size_t keys);

    std::string_view text() const noexcept { return text_; }
    const std::string& digest() const noexcept { return digest_; }
    /// Named by the digest, so that what another holdfast has left on the server is another one's.
    std::string function() const { return "holdfast_" + digest_; }
    /// The text as a library of that one function, as FUNCTION LOAD takes it.
    std::string library() const;
    /// Appends the words that ask for it, as they are sent.
    void append_words(Way way, std::string& bytes) const;
    /// Null when it is run alone only.
    const Script* together() const noexcept { return together_; }
    /// Its name there, as it is sent.
    const std::string& name() const noexcept { return name_; }
    std::size_t keys_together() const noexcept { return keys_together_; }
    /// A server that is given this one is given that one too: who asks for this and then for that
    /// may not stay to hear that it is not known. Both must live as long as the other.
    void comes_with(const Script& other) { companions_.push_back(&other); }
    const std::vector<const Script*>& companions() const noexcept { return companions_; }

private:
    std::string_view text_;
    std::string digest_;
    std::string words_by_function_;
    std::string words_by_digest_;
    const Script* together_ = nullptr;
    std::string name_;
    std::size_t keys_together_ = 0;
    std::vector<const Script*> companions_ = {};
};

/// What tells one process of a server from the next: so many hexadecimal digits.
inline constexpr std::size_t run_digits = 40;

/// One request to the server.
class Command {
public:
    Command(std::initializer_list<std::string_view> words) {
        for (const std::string_view word : words) *this << word;
    }
    /// Runs a script; so many keys come next. The script must outlive the command.
    Command(const Script& script, std::size_t keys);

    Command& operator<<(std::string_view word);
    Command& operator<<(std::int64_t number);
    Command& operator<<(std::uint64_t number);
    /// 32 hexadecimal digits.
    Command& operator<<(const Nonce& nonce);
    /// One word, of two parts.
    Command& join(std::string_view first, std::string_view second);
    /// The next word is the run of the server that it goes to, which is known there alone.
    Command& with_run();

    /// Null when it runs none.
    const Script* script() const noexcept { return script_; }
    /// The server is asked for the script in this way from now on, if not in a later one.
    void go_by(Way way) noexcept { way_ = std::max(way_, way); }
    Way way() const noexcept { return way_; }

    /// Its reply may say of a contender that it is admitted, with so many numbers for each.
    Command& with_standings(std::size_t numbers_each) noexcept {
        numbers_each_ = numbers_each;
        return *this;
    }
    /// Nought: its reply makes nobody a holder.
    std::size_t numbers_each() const noexcept { return numbers_each_; }

    /// How long it is tried at the most, if that is less than any request is.
    Command& be_patient_for(std::chrono::milliseconds time) noexcept {
        patience_ = time;
        return *this;
    }
    std::optional<std::chrono::milliseconds> patience() const noexcept { return patience_; }
    /// It may be carried out before what was asked for earlier, and had better not wait for it: who
    /// leaves may end, and is refused should it enter later.
    Command& passing() noexcept {
        passes_ = true;
        return *this;
    }
    bool passes() const noexcept { return passes_; }
    /// It is about to be sent to this run of a server. Does nothing when no word is for that.
    void sign(std::string_view run);

    void append_to(std::string& bytes) const;
    /// Its words, without those that name the script.
    std::vector<std::string_view> words() const;
    /// Of a script's command: the first key; nothing when it has none.
    std::optional<std::string_view> first_key() const;

    /// The script that can run it together with others; null when there is none.
    const Script* together() const noexcept;
    /// Several that have the same, as one request, in the latest way of them. It answers with an
    /// array of what they would.
    static void append_together(std::span<const Command* const> commands, std::string& bytes);
    static Way way_together(std::span<const Command* const> commands);

private:
    char* begin_word(std::size_t size);
    void end_word(char* end);

    bool passes_ = false;
    const Script* script_ = nullptr;
    Way way_ = Way::function;
    std::size_t numbers_each_ = 0;
    std::optional<std::chrono::milliseconds> patience_ = std::nullopt;
    std::size_t words_ = 0;  ///< without those that name the script
    std::size_t keys_ = 0;   ///< of a script
    // Where they begin and end.
    std::size_t keys_begin_ = 0;
    std::size_t keys_end_ = 0;
    std::optional<std::size_t> run_begins_ = std::nullopt;
    // These words, as they are sent. By pointer, for a string that grows word by word is most of
    // what there is to do for a request.
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace holdfast::inline v0::redis
