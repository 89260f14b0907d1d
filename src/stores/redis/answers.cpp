#include "stores/redis/answers.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "port/sentences.hpp"
#include "port/told_time.hpp"
#include "stores/net/secret.hpp"

namespace holdfast::inline v0::redis {

namespace {

bool is_refusal(const Reply& reply) {
    return reply.kind == Reply::Kind::array && !reply.elements.empty() &&
           reply.elements[0].kind == Reply::Kind::text;
}

bool is_numbers(const Reply& reply, std::size_t group) {
    const auto is_number = [](const Reply& element) {
        return element.kind == Reply::Kind::integer;
    };
    return reply.kind == Reply::Kind::array && !reply.elements.empty() &&
           reply.elements.size() % group == 0 && std::ranges::all_of(reply.elements, is_number);
}

/// A fence is a clock's time in microseconds, or later: sixteen digits, since 2001. Shorter numbers
/// are not of ours.
constexpr std::int64_t lowest_fence = 1'000'000'000'000'000;

/// Of one that is admitted: most are, and an array costs the server a tenth of all.
bool is_fence(const Reply& reply) {
    return reply.kind == Reply::Kind::integer && reply.integer >= lowest_fence;
}

}  // namespace

/// `look` is when to look again for one that waits. Of others it is the server's clock, in a
/// renewal.
Standing Answers::standing_from(std::int64_t state, std::int64_t fence, std::int64_t look) const {
    std::optional<std::chrono::microseconds> clock;
    if (look > 0) clock = told_as<std::chrono::microseconds>(look);
    switch (state) {
        case 1:
            return {.state = Standing::State::waiting, .look_again = layout_.look_again(look)};
        case 2:
            return {.state = Standing::State::offered};
        case 3:
            return {.state = Standing::State::admitted,
                    .fence = static_cast<std::uint64_t>(fence),
                    .server_clock = clock};
        default:
            return {.server_clock = clock};
    }
}

Entry Answers::first_of_its_line(const Contender& one, std::int64_t fence) const {
    return {.ticket = {one.resource, one.nonce, layout_.place_of(one, 1)},
            .standing = standing_from(3, fence, -1)};
}

Result<std::vector<Entry>> Answers::entries(const Reply& reply,
                                            std::span<const Contender> contenders) const {
    if (is_refusal(reply)) return refused(reply, contenders);
    if (is_fence(reply) && contenders.size() == 1) {
        return std::vector{first_of_its_line(contenders.front(), reply.integer)};
    }
    const std::size_t count = reply.elements.size() / 4;
    if (!is_numbers(reply, 4) || count > contenders.size()) return not_ours();
    std::vector<Entry> entries;
    entries.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Reply* const number = &reply.elements[4 * i];
        const Contender& one = contenders[i];
        entries.push_back(
            {.ticket = {one.resource, one.nonce, layout_.place_of(one, number[1].integer)},
             .standing = standing_from(number[0].integer, number[2].integer, number[3].integer)});
    }
    return entries;
}

Result<std::vector<Standing>> Answers::standings(const Reply& reply, std::size_t count) const {
    if (is_refusal(reply)) return refused(reply, {});
    if (!is_numbers(reply, 3) || reply.elements.size() != 3 * count) return not_ours();
    std::vector<Standing> standings;
    standings.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Reply* const number = &reply.elements[3 * i];
        standings.push_back(standing_from(number[0].integer, number[1].integer, number[2].integer));
    }
    return standings;
}

Result<Standing> Answers::left(const Reply& reply) const {
    if (reply.kind != Reply::Kind::integer || reply.integer < 0 || reply.integer > 3) {
        return not_ours();
    }
    return standing_from(reply.integer, 0, -1);
}

Failure Answers::refused(const Reply& reply, std::span<const Contender> contenders) const {
    const auto& words = reply.elements;
    const std::string& word = words[0].text;
    const auto index = words.size() > 1 ? static_cast<std::size_t>(words[1].integer) : 0;
    const Contender asked = index < contenders.size() ? contenders[index] : Contender{};
    if (word == "conflict" && words.size() == 4) {
        const Usage in_use{static_cast<std::uint64_t>(words[2].integer),
                           words[3].text == "f" ? Fairness::fifo : Fairness::barging};
        return conflict(in_use, {asked.capacity, asked.fairness});
    }
    if (word == "deadlock") return deadlock(asked.owner);
    if (word == "withdrawn") return withdrawn();
    if (word == "fence" && words.size() == 3) {
        return {errc::corrupt, Effect::none,
                store_ + ": the last fence is '" + net::quotable(words[2].text) +
                    "', which only a planted value can be; delete its key (docs/stores/redis.md)"};
    }
    return not_ours();
}

Failure Answers::not_ours() const {
    return {errc::corrupt, Effect::unknown,
            store_ +
                ": it answered what no script of ours does; check what stands "
                "between this machine and the server"};
}

}  // namespace holdfast::inline v0::redis
