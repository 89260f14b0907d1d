#include "stores/sql/forgetting.hpp"

#include <charconv>
#include <random>

#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::sql {

namespace {

/// Between two steps. One that finds nothing takes the server a fifth of a millisecond.
constexpr int usual_pause = 50;
/// After a step that was worth it: of the fifty lines that it looked at it found some.
constexpr int short_pause = 5;
constexpr int worth_it = 5;

/// One in so many begins with the first line, for nobody else finds that one soon.
constexpr int begin_first = 16;

int forgotten_in(const Reply& reply) {
    const std::string& text = reply.rows.front()[1];
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

Forgetting::Forgetting() {
    std::random_device random;
    releases_to_go_ = std::uniform_int_distribution(1, usual_pause)(random);
    const bool first = std::uniform_int_distribution(1, begin_first)(random) == 1;
    if (!first) behind_ = scripted::random_client();
}

Call Forgetting::start() {
    under_way_ = true;
    return {.verb = "forget", .rows = {{behind_}}};
}

void Forgetting::ended(const Result<Reply>& result) {
    under_way_ = false;
    releases_to_go_ = usual_pause;
    if (!result.ok() || result.value().rows.size() != 1 || result.value().rows[0].size() != 3)
        return;
    if (forgotten_in(result.value()) >= worth_it) releases_to_go_ = short_pause;
    behind_ = result.value().rows[0][2];
}

}  // namespace holdfast::inline v0::sql
