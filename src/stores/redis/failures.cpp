#include "stores/redis/failures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "stores/net/secret.hpp"

namespace holdfast::inline v0::redis {

namespace {

/// A server's errors start with a word in capitals.
struct Meaning {
    std::string_view word;
    errc code;
    std::string_view sentence;
};

constexpr std::array meanings{
    Meaning{"NOAUTH", errc::bad_configuration,
            "it wants a password; put it into the URL, or name a password_file"},
    Meaning{"WRONGPASS", errc::bad_configuration, "it refuses this user and password; check both"},
    Meaning{"DENIED", errc::bad_configuration,
            "it serves its own machine alone (protected-mode); give it a password"},
    Meaning{"NOPERM", errc::bad_configuration,
            "this user may not do it; docs/stores/redis.md lists the rights that holdfast needs"},
    Meaning{"READONLY", errc::unreachable,
            "it is a read-only replica; use the address of the primary"},
    Meaning{"LOADING", errc::unreachable, "it is loading its data; try again in a moment"},
    Meaning{"BUSY", errc::unreachable, "it is busy with a script of somebody else's"},
    Meaning{"MASTERDOWN", errc::unreachable, "it is a replica that has lost its primary"},
    Meaning{"TRYAGAIN", errc::unreachable, "it is moving data; try again in a moment"},
    Meaning{"OOM", errc::unreachable,
            "it has no memory left for new locks; raise maxmemory or free some"},
    Meaning{"MISCONF", errc::unreachable,
            "it refuses to write because it cannot save its data; see its log"},
    Meaning{"NOREPLICAS", errc::unreachable,
            "it refuses to write without enough replicas (min-replicas-to-write)"},
    Meaning{"MOVED", errc::bad_configuration,
            "it belongs to a Redis Cluster; redis:// is for one server, redis+cluster:// for all"},
    Meaning{"ASK", errc::unreachable, "it is moving data; try again in a moment"},
    Meaning{"CROSSSLOT", errc::bad_configuration,
            "it belongs to a Redis Cluster; redis:// is for one server, redis+cluster:// for all"},
    Meaning{"CLUSTERDOWN", errc::unreachable, "its cluster is down"},
    Meaning{"WRONGTYPE", errc::corrupt,
            "something else is stored under the lock's key; choose another name or prefix"},
    Meaning{"PLANTED", errc::corrupt,
            "what is stored under the lock's keys was not written by holdfast; delete them while "
            "nobody uses it"},
};

template <class Number>
std::optional<Number> number_of(std::string_view digits) {
    Number number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || stopped != end || digits.empty()) return std::nullopt;
    return number;
}

bool starts_with_word(std::string_view error, std::string_view word) {
    return error.starts_with(word) && (error.size() == word.size() || error[word.size()] == ' ');
}

/// A script of ours met what it cannot read, itself or in a command that it gave. A command that
/// the server does not know, or not by that name, is something else; and so is a script that
/// somebody has ended.
bool is_of_our_script(std::string_view error) {
    const bool in_a_script = error.find(", on @user_function:") != std::string_view::npos ||
                             error.find(", on @user_script:") != std::string_view::npos;
    return in_a_script && starts_with_word(error, "ERR") &&
           error.find("nknown Redis command") == std::string_view::npos &&
           error.find("Invalid command passed to") == std::string_view::npos &&
           error.find("Script killed by user") == std::string_view::npos &&
           // While a slot is being moved.
           error.find("Script attempted") == std::string_view::npos;
}

}  // namespace

bool is_passing(std::string_view error) {
    return starts_with_word(error, "LOADING") || starts_with_word(error, "BUSY");
}

bool is_unknown_script(std::string_view error) {
    return starts_with_word(error, "NOSCRIPT");
}

bool is_unknown_function(std::string_view error) {
    return error.starts_with("ERR Function not found");
}

/// A missing right for a key, or for a command that the function uses, is worded otherwise.
bool forbids_functions(std::string_view error) {
    if (starts_with_word(error, "NOPERM")) {
        return error.find("run the 'fcall' command") != std::string_view::npos;
    }
    // "ERR unknown command 'FCALL'": an older server. "unsupported command 'fcall'": a proxy.
    return error.find("nknown command") != std::string_view::npos ||
           error.find("nsupported command") != std::string_view::npos;
}

bool is_lasting_refusal(std::string_view error) {
    return starts_with_word(error, "NOPERM") || starts_with_word(error, "ERR");
}

bool is_elsewhere(std::string_view error) {
    constexpr std::array<std::string_view, 6> words{"READONLY", "MASTERDOWN", "MOVED",
                                                    "ASK",      "TRYAGAIN",   "CLUSTERDOWN"};
    return std::ranges::any_of(words, [&](auto word) { return starts_with_word(error, word); });
}

/// "MOVED 3999 127.0.0.1:6381": an IPv6 address has colons of its own.
std::optional<Redirection> redirection_of(std::string_view error) {
    const bool asks = starts_with_word(error, "ASK");
    if (!asks && !starts_with_word(error, "MOVED")) return std::nullopt;
    error.remove_prefix(std::min(error.size(), error.find(' ') + 1));
    const auto slot = number_of<std::uint16_t>(error.substr(0, error.find(' ')));
    error.remove_prefix(std::min(error.size(), error.find(' ') + 1));
    const std::size_t colon = error.rfind(':');
    if (!slot || colon == std::string_view::npos) return std::nullopt;
    const auto port = number_of<std::uint16_t>(error.substr(colon + 1));
    if (!port || *port == 0) return std::nullopt;
    return Redirection{asks, *slot, {std::string(error.substr(0, colon)), *port}};
}

bool is_harmless_in_greeting(std::string_view error) {
    return error.find("setname") != std::string_view::npos && starts_with_word(error, "NOPERM");
}

Failure failure_of(std::string_view error, const Address& address) {
    const std::string who = address.shown() + ": ";
    const std::string said = net::without_secret(error, address.password);
    const auto known = std::ranges::find_if(
        meanings, [&](const Meaning& meaning) { return starts_with_word(error, meaning.word); });
    if (known != std::end(meanings)) {
        return {known->code, Effect::none, who + std::string(known->sentence) + " (" + said + ")"};
    }
    if (error.find("The user executing the script") != std::string_view::npos) {
        // What the script did before that is not taken back.
        return {errc::bad_configuration, Effect::unknown,
                who +
                    "this user may not do it; docs/stores/redis.md lists the rights that "
                    "holdfast needs (" +
                    said + ")"};
    }
    if (is_of_our_script(error)) {
        return {errc::corrupt, Effect::unknown,
                who +
                    "what is stored under the lock's keys was not written by holdfast; delete "
                    "them while nobody uses it (" +
                    said + ")"};
    }
    if (error.find("compiling script") != std::string_view::npos) {
        return {errc::bad_configuration, Effect::none,
                who + "it does not understand our scripts; holdfast needs Redis 7.0 or newer"};
    }
    return {errc::unreachable, Effect::unknown, who + "it answered with an error: " + said};
}

/// What we say first is the same each time, and what it has against a part of that it will say
/// again. All else may pass: no room for another connection, a proxy whose server is away.
Failure refusal_of(std::string_view error, const Address& address) {
    constexpr std::array lasting{"AUTH", "DB index", "SELECT is not", "nknown command"};
    Failure failure = failure_of(error, address);
    const bool lasts = std::ranges::any_of(lasting, [&](std::string_view words) {
        return error.find(words) != std::string_view::npos;
    });
    if (starts_with_word(error, "ERR") && lasts) failure.code = errc::bad_configuration;
    failure.effect = Effect::none;
    return failure;
}

}  // namespace holdfast::inline v0::redis
