#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::inline v0::memcached {

/// What a server answered, as far as we ask for anything.
struct Reply {
    enum class Kind : std::uint8_t {
        done,
        value,       ///< the item's, in `text`
        not_stored,  ///< there is an item already
        changed,     ///< the item is of another version
        missing,     ///< there is no item
        alive,       ///< the answer to a question for nothing
        stored,      ///< to a command of old: a password was taken
        version,     ///< the server's own, in `text`
        error,       ///< the whole line in `text`
        parted,      ///< nobody answered: the one connection that it was for is gone
    };

    Kind kind = Kind::error;
    std::string text = {};
    std::uint64_t cas = 0;  ///< the item's version
    /// That the item lives for yet; negative: for ever.
    std::optional<std::int64_t> seconds = std::nullopt;
    /// Of the request, where the answer repeats it.
    std::optional<std::uint64_t> number = std::nullopt;
    std::uint64_t connection = 0;  ///< by which it came

    bool operator==(const Reply&) const = default;
};

/// Reads replies from whatever pieces they come in.
class ReplyReader {
public:
    void feed(std::string_view bytes);

    /// The next reply that is complete; nothing while more bytes are needed. Throws Error with
    /// errc::corrupt when what comes in is not the protocol, and from then on always.
    std::optional<Reply> next();

private:
    std::optional<Reply> first();

    std::string bytes_;
    std::size_t read_ = 0;  ///< so many of them are done with
    bool broken_ = false;
};

}  // namespace holdfast::inline v0::memcached
