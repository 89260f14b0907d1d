#include "stores/sql/answers.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "port/sentences.hpp"
#include "port/told_time.hpp"
#include "port/unanswered.hpp"
#include "stores/scripted/words.hpp"

namespace holdfast::inline v0::sql {

namespace {

using scripted::from_hex;
using scripted::nonce_of;
using State = Standing::State;
using Row = std::vector<std::string>;

std::optional<std::int64_t> number_in(std::string_view text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return number;
}

std::uint64_t unsigned_in(std::string_view text) {
    return static_cast<std::uint64_t>(number_in(text).value_or(0));
}

std::optional<std::chrono::nanoseconds> look_in(std::string_view text) {
    const auto milliseconds = number_in(text);
    if (!milliseconds || *milliseconds < 0) return std::nullopt;
    return told_as<std::chrono::milliseconds>(*milliseconds);
}

/// Of one that does not wait, in a renewal.
std::optional<std::chrono::microseconds> clock_in(std::string_view text) {
    const auto microseconds = number_in(text);
    if (!microseconds || *microseconds <= 0) return std::nullopt;
    return told_as<std::chrono::microseconds>(*microseconds);
}

/// State, ticket, fence, look or clock; nothing when it says something else.
std::optional<Standing> standing_in(const Row& row) {
    if (row.size() != 4 || row[0].size() != 1) return std::nullopt;
    switch (row[0][0]) {
        case '0':
            return Standing{.server_clock = clock_in(row[3])};
        case '1':
            return Standing{.state = State::waiting, .look_again = look_in(row[3])};
        case '2':
            return Standing{.state = State::offered};
        case '3':
            return Standing{.state = State::admitted,
                            .fence = unsigned_in(row[2]),
                            .server_clock = clock_in(row[3])};
        case '4':
            return unanswered();
        default:
            return std::nullopt;
    }
}

Fairness fairness_in(std::string_view letter) {
    return letter == "f" ? Fairness::fifo : Fairness::barging;
}

/// How long a row of inspect is.
constexpr std::size_t columns_of_place = 13;

/// How many of all lines come before this id: it is a hash, and the next one anywhere.
double share_before(std::string_view id) {
    constexpr std::size_t bytes = 2;
    const auto start = from_hex(id.substr(0, 2 * bytes)).value_or("");
    if (start.size() != bytes) return 1.0;
    const auto high = static_cast<unsigned char>(start[0]);
    const auto low = static_cast<unsigned char>(start[1]);
    return (high * 256.0 + low) / 65536.0;
}

/// Of one that holds by another library the owner comes in hexadecimal digits.
std::string owner_in(const Row& row, bool foreign) {
    return (foreign ? from_hex(row[5]) : unescaped(row[5])).value_or(row[5]);
}

Place place_in(const std::string& resource, const Row& row) {
    const bool foreign = nonce_of(row[4]) == Nonce{};
    return {.ticket = {resource, nonce_of(row[4]).value_or(Nonce{}), row[12]},
            .owner = owner_in(row, foreign),
            .weight = unsigned_in(row[6]),
            .fence = unsigned_in(row[7]),
            .lease_left = told_as<std::chrono::milliseconds>(number_in(row[8]).value_or(0)),
            .host = unescaped(row[9]).value_or(row[9]),
            .pid = static_cast<int>(number_in(row[10]).value_or(0)),
            .age = told_as<std::chrono::milliseconds>(number_in(row[11]).value_or(0)),
            .foreign = foreign};
}

}  // namespace

Result<std::vector<Entry>> Answers::entries(const Reply& reply,
                                            std::span<const Contender> contenders) const {
    if (reply.rows.empty() || reply.rows.size() > contenders.size()) return not_ours();
    std::vector<Entry> entries;
    entries.reserve(reply.rows.size());
    for (std::size_t i = 0; i < reply.rows.size(); ++i) {
        const Row& row = reply.rows[i];
        const auto standing = standing_in(row);
        if (!standing) return refused(row, contenders[i]);
        entries.push_back({.ticket = {contenders[i].resource, contenders[i].nonce, row[1]},
                           .standing = *standing});
    }
    return entries;
}

Result<std::vector<Standing>> Answers::standings(const Reply& reply, std::size_t count) const {
    if (reply.rows.size() != count) return not_ours();
    std::vector<Standing> standings;
    standings.reserve(count);
    for (const Row& row : reply.rows) {
        const auto standing = standing_in(row);
        if (!standing) return refused(row, {});
        standings.push_back(*standing);
    }
    return standings;
}

Result<Standing> Answers::left(const Reply& reply) const {
    auto one = standings(reply, 1);
    if (!one.ok()) return one.failure();
    return one.value().front();
}

Result<std::vector<Line>> Answers::lines(const Reply& reply) const {
    std::map<std::string, Line> lines;
    for (const Row& row : reply.rows) {
        if (row.size() != columns_of_place) return not_ours();
        const auto resource = calls_.resource_in(row[0]);
        if (!resource) continue;
        Line& line = lines[*resource];
        line.resource = *resource;
        line.capacity = unsigned_in(row[1]);
        line.fairness = fairness_in(row[2]);
        auto& places = row[3] == "holder" ? line.holders : line.waiters;
        places.push_back(place_in(*resource, row));
    }
    std::vector<Line> sorted;
    sorted.reserve(lines.size());
    for (auto& [resource, line] : lines) sorted.push_back(std::move(line));
    return sorted;
}

Result<SweepStep> Answers::swept(const Reply& reply) const {
    if (reply.rows.size() != 1 || reply.rows[0].size() != 3) return not_ours();
    const Row& row = reply.rows[0];
    return SweepStep{
        .removed = {.contenders = unsigned_in(row[0]), .resources = unsigned_in(row[1])},
        .next = row[2],
        .looked_at = share_before(row[2])};
}

Failure Answers::refused(const Row& row, const Contender& asked) const {
    const std::string word = row.empty() ? "" : row[0];
    if (word == "conflict" && row.size() == 3) {
        return conflict({unsigned_in(row[1]), fairness_in(row[2])},
                        {asked.capacity, asked.fairness});
    }
    if (word == "deadlock") return deadlock(asked.owner);
    if (word == "withdrawn") return withdrawn();
    if (word == "fence" && row.size() == 2) {
        return {errc::corrupt, Effect::none,
                shown_ + ": the last fence is " + row[1] +
                    ", which only a planted value can be; delete the resource's row in "
                    "holdfast_lines while nobody uses it"};
    }
    return not_ours();
}

Failure Answers::not_ours() const {
    return {errc::corrupt, Effect::unknown,
            shown_ +
                ": it answered what no procedure of ours does; compare them with our schema "
                "(docs/stores)"};
}

scripted::News Answers::news(const std::string& message) {
    if (message != woken_by_somebody) return scripted::news_in(message);
    return {.whom = scripted::News::Whom::the_only_one, .standing = {.state = State::offered}};
}

std::optional<std::string> take_next_page(Reply& page) {
    const auto found = std::ranges::find_if(
        page.rows, [](const Row& row) { return row.size() == 2 && row[0] == "next"; });
    if (found == page.rows.end()) return std::nullopt;
    std::string next = (*found)[1];
    page.rows.erase(found);
    return next;
}

}  // namespace holdfast::inline v0::sql
