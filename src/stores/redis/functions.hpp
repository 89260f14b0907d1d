#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/clock.hpp"
#include "stores/redis/command.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::inline v0::redis {

/// Which of our functions one server has, as far as its answers tell, and how it is asked for a
/// script. What it does not have it is given, before it is asked again: after a flush, a restart
/// without data, a failover, and on a node that is new. Where it may not be given functions, or the
/// user may not call them, scripts go by digest or text.
/// No I/O, and time is an input. Threads: as of a Node.
class Functions {
public:
    /// How it is asked for a script that nothing else is known of.
    Way way(Moment now) const noexcept;

    /// Whether it knew the script, when it was asked for in this way last.
    bool is_known(const Script& script, Way way) const noexcept;
    /// It does.
    void known(const Script& script, Way way);

    /// It refused the script, asked for in this way. How it is to be asked instead; nothing when
    /// the refusal is about something else. None of these had an effect.
    std::optional<Way> instead(const Script& script, Way way, std::string_view error, Moment now);

    /// Appends the next library that it is to be given, as it is sent. Null when it has all.
    const Script* append_library(std::string& bytes);
    /// What it answered to that.
    void given(const Script& script, const Reply& reply, Moment now);

    /// Nothing that was sent will be answered; the next server may be another one.
    void forget() noexcept;

private:
    /// A function that it did not have.
    struct Gift {
        enum class State : std::uint8_t { wanted, sent, given };
        const Script* script;
        State state = State::wanted;
        Moment given_at{};
    };

    struct Known {
        const Script* script;
        Way way;
        bool operator==(const Known&) const = default;
    };

    void is_missing(const Script& script, Moment now);

    std::vector<Gift> gifts_;
    std::vector<Known> known_;
    Moment scripts_until_{};  ///< it is not asked for functions before this
};

}  // namespace holdfast::inline v0::redis
