#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace holdfast::inline v0::redis {

/// What a server answered.
struct Reply {
    enum class Kind : std::uint8_t { nil, status, error, integer, text, array };

    Kind kind = Kind::nil;
    std::int64_t integer = 0;
    std::string text = {};  ///< of a status, an error or a text
    std::vector<Reply> elements = {};

    bool is_error() const noexcept { return kind == Kind::error; }
    bool operator==(const Reply&) const = default;
};

struct OutermostReply;

/// Reads replies from whatever pieces they come in.
class ReplyReader {
public:
    ReplyReader();
    ~ReplyReader();
    ReplyReader(ReplyReader&&) noexcept;
    ReplyReader& operator=(ReplyReader&&) noexcept;

    void feed(std::string_view bytes);

    /// The next reply that is complete; nothing while more bytes are needed. Throws Error with
    /// errc::corrupt when what comes in is not the protocol, and std::bad_alloc where there was no
    /// memory for it: from then on always.
    std::optional<Reply> next();

private:
    struct Free {
        void operator()(redisReader* reader) const noexcept;
    };
    std::unique_ptr<OutermostReply> outermost_;
    std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace holdfast::inline v0::redis
