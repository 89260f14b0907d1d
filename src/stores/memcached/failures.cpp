#include "stores/memcached/failures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "stores/net/secret.hpp"

namespace holdfast::inline v0::memcached {

namespace {

struct Meaning {
    std::string_view words;  ///< that are in it
    errc code;
    Effect effect;
    std::string_view sentence;
};

constexpr std::array meanings{
    Meaning{"unauthenticated", errc::bad_configuration, Effect::none,
            "it wants a password; put it into the URL, or name a password_file"},
    Meaning{"authentication failure", errc::bad_configuration, Effect::none,
            "it refuses this user and password; check both"},
    // Memcached removes what it cannot replace, whoever asked for it.
    Meaning{"out of memory", errc::unreachable, Effect::none,
            "it has no memory left for new items, and may have removed what was there; let it "
            "evict (without -M), or give it more (-m)"},
    Meaning{"too large", errc::bad_configuration, Effect::none,
            "it takes no items as large as a lock's; raise its -I"},
    // "Too many", when it has just begun.
    Meaning{"oo many open connections", errc::unreachable, Effect::none,
            "it takes no more connections; raise its -c"},
};

/// "1.6.18", and what a packager may put behind it.
std::array<int, 3> numbers_of(std::string_view version) {
    std::array<int, 3> numbers{};
    for (int& number : numbers) {
        const auto [stopped, error] =
            std::from_chars(version.data(), version.data() + version.size(), number);
        version.remove_prefix(static_cast<std::size_t>(stopped - version.data()));
        if (error != std::errc{} || !version.starts_with('.')) break;
        version.remove_prefix(1);
    }
    return numbers;
}

}  // namespace

bool wants_password(std::string_view error) {
    return error.find("unauthenticated") != std::string_view::npos;
}

Failure failure_of(std::string_view error, const net::Address& server, std::string_view password) {
    const std::string who = server.shown() + ": ";
    const std::string said = net::without_secret(error, password);
    const auto known = std::ranges::find_if(meanings, [&](const Meaning& meaning) {
        return error.find(meaning.words) != std::string_view::npos;
    });
    if (known == meanings.end()) {
        return {errc::unreachable, Effect::unknown, who + "it answered with an error: " + said};
    }
    return {known->code, known->effect, who + std::string(known->sentence) + " (" + said + ")"};
}

/// The first that answers to meta commands in today's words.
std::optional<Failure> objection_to(std::string_view version, const net::Address& server) {
    constexpr std::array<int, 3> oldest{1, 6, 10};
    if (numbers_of(version) >= oldest) return std::nullopt;
    return Failure{errc::bad_configuration, Effect::none,
                   server.shown() + ": it is of version " + std::string(version) +
                       ", without the meta commands; holdfast needs memcached 1.6.10 or newer"};
}

}  // namespace holdfast::inline v0::memcached
