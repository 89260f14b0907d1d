#include "stores/scripted/news.hpp"

#include <charconv>
#include <chrono>
#include <optional>

#include "port/told_time.hpp"
#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::scripted {

namespace {

using State = Standing::State;

constexpr std::size_t nonce_digits = 32;

std::optional<std::chrono::nanoseconds> look_in(std::string_view text) {
    std::int64_t milliseconds = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, milliseconds);
    if (error != std::errc{} || stopped != end || milliseconds < 0) return std::nullopt;
    return told_as<std::chrono::milliseconds>(milliseconds);
}

Standing standing_in(std::string_view words) {
    if (words == "o") return {.state = State::offered};
    if (words == "g") return {};
    const bool says_when = words.size() > 2;
    return {.state = State::waiting,
            .look_again = says_when ? look_in(words.substr(2)) : std::nullopt};
}

}  // namespace

News news_in(std::string_view message) {
    if (message.size() < nonce_digits + 2) return {};
    const auto nonce = nonce_of(message.substr(0, nonce_digits));
    if (!nonce) return {};
    return {.nonces = {*nonce}, .standing = standing_in(message.substr(nonce_digits + 1))};
}

}  // namespace holdfast::inline v0::scripted
