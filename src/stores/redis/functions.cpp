#include "stores/redis/functions.hpp"

#include <algorithm>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

/// How long scripts do without functions when a server does not take them just now, whatever the
/// reason: it has no memory left, say.
constexpr auto time_without = 10s;
/// One that does not know a function so soon after it was given it will not know it the next time:
/// another server may be asked than was given it.
constexpr auto at_once = 1s;

}  // namespace

Way Functions::way(Moment now) const noexcept {
    return now < scripts_until_ ? Way::digest : Way::function;
}

bool Functions::is_known(const Script& script, Way way) const noexcept {
    return way == Way::text || std::ranges::find(known_, Known{&script, way}) != known_.end();
}

void Functions::known(const Script& script, Way way) {
    if (!is_known(script, way)) known_.push_back({&script, way});
}

std::optional<Way> Functions::instead(const Script& script, Way way, std::string_view error,
                                      Moment now) {
    const bool is_unknown = is_unknown_script(error) || is_unknown_function(error);
    if (is_unknown) std::erase(known_, Known{&script, way});
    if (way == Way::digest && is_unknown_script(error)) return Way::text;
    if (way != Way::function) return std::nullopt;
    if (forbids_functions(error)) {
        scripts_until_ = Moment::max();
        return Way::digest;
    }
    if (!is_unknown_function(error)) return std::nullopt;
    if (this->way(now) == Way::function) is_missing(script, now);
    return this->way(now);
}

/// What was sent before a library is answered before it: so nothing is given twice.
void Functions::is_missing(const Script& script, Moment now) {
    const auto gift = std::ranges::find(gifts_, &script, &Gift::script);
    if (gift == gifts_.end()) {
        gifts_.push_back({.script = &script});
        for (const Script* const other : script.companions()) {
            if (std::ranges::find(gifts_, other, &Gift::script) == gifts_.end()) {
                gifts_.push_back({.script = other});
            }
        }
        return;
    }
    if (gift->state != Gift::State::given) return;
    if (now < gift->given_at + at_once) {
        scripts_until_ = now + time_without;
    } else {
        gift->state = Gift::State::wanted;
    }
}

const Script* Functions::append_library(std::string& bytes) {
    const auto gift = std::ranges::find(gifts_, Gift::State::wanted, &Gift::state);
    if (gift == gifts_.end()) return nullptr;
    // In place of one of that name that does not have the function: it is nobody else's.
    Command{"FUNCTION", "LOAD", "REPLACE", gift->script->library()}.append_to(bytes);
    gift->state = Gift::State::sent;
    return gift->script;
}

void Functions::given(const Script& script, const Reply& reply, Moment now) {
    const auto gift = std::ranges::find(gifts_, &script, &Gift::script);
    if (gift == gifts_.end()) return;
    if (!reply.is_error()) {
        gift->state = Gift::State::given;
        gift->given_at = now;
        return;
    }
    gifts_.erase(gift);
    const Moment until = is_lasting_refusal(reply.text) ? Moment::max() : now + time_without;
    scripts_until_ = std::max(scripts_until_, until);
}

void Functions::forget() noexcept {
    gifts_.clear();
    known_.clear();
    scripts_until_ = {};
}

}  // namespace holdfast::inline v0::redis
