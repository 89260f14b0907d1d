#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"

namespace holdfast::inline v0::sql {

/// One of our procedures in the server, and what it is called with: words as its parameters, once
/// for each row, all in one transaction.
struct Call {
    std::string verb;
    std::vector<std::vector<std::string>> rows;
    /// The place that it was answered when it entered, of a request for one that did.
    std::string place = {};
    /// The lock is ShedLock's too: the last word of a row is its name there, in hexadecimal digits.
    bool shared = false;
};

/// What the server refused, and by which code of its own.
struct ServerError {
    std::string code;
    std::string message;
};

/// The words that the calls answered, row by row; or an error, and then nothing was done.
struct Reply {
    std::vector<std::vector<std::string>> rows = {};
    std::optional<ServerError> error = std::nullopt;
};

/// A push that says only that something was told, and is being read.
inline constexpr std::string_view woken_by_somebody = "woken";

/// A connection to a server that never blocks, and answers one request at a time. For one thread at
/// a time.
class Session {
public:
    enum class State : std::uint8_t {
        opening,
        idle,
        busy,
        broken,  ///< trouble() says why; nothing comes of it any more
    };

    virtual ~Session() = default;

    State state() const noexcept { return state_; }
    /// Goes on with what it is at, as far as it goes without blocking.
    virtual void advance() = 0;
    /// When advance() has something to do by itself, if ever.
    virtual std::optional<Moment> due() const noexcept { return std::nullopt; }
    /// What to poll for before the next advance(); -1 while there is nothing.
    virtual int descriptor() const noexcept = 0;
    short wanted() const noexcept { return wanted_; }

    /// Of an idle one, which is busy then until the reply is there.
    virtual void ask(const Call& call) = 0;
    /// The same with text of the server's own language: several statements.
    virtual void run(std::string_view script) = 0;
    /// Whether the reply is there.
    bool replied() const noexcept { return state_ == State::busy && reply_whole_; }
    /// Once it is there; then it is idle again.
    std::optional<Reply> take_reply() {
        if (!replied()) return std::nullopt;
        reply_whole_ = false;
        state_ = State::idle;
        return std::exchange(reply_, {});
    }

    /// Of a session that listens: what was told to this client. See scripted::news_in() and
    /// woken_by_somebody.
    virtual std::vector<std::string> take_pushes() = 0;

    /// Whether advance() would start something of its own that can wait.
    virtual bool can_wait() const noexcept { return false; }

    /// Why it is broken.
    const Failure& trouble() const noexcept { return trouble_; }

protected:
    State state_ = State::opening;
    short wanted_ = 0;
    Reply reply_ = {};  ///< as far as it has come
    bool reply_whole_ = false;
    Failure trouble_ = {};
};

}  // namespace holdfast::inline v0::sql
