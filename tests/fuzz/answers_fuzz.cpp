#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "property.hpp"
#include "stores/redis/answers.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redlock/requests.hpp"
#include "stores/sql/answers.hpp"

/// What a server answers where our scripts and procedures should: rows and lists of anything.
namespace holdfast::fuzz {
namespace {

const std::array<Contender, 2> asked{Contender{.resource = "a", .nonce = {}, .owner = "me"},
                                     Contender{.resource = "b", .nonce = {}, .owner = "me"}};

void expect_a_moment(const Standing& standing) {
    const auto now = BootClock::now();
    if (standing.look_again) expect(now + *standing.look_again >= now, "a look is to come");
    // As it is compared with our own clock.
    if (standing.server_clock) {
        const std::chrono::nanoseconds clock = *standing.server_clock;
        expect(clock.count() > 0, "a clock has a time");
    }
}

/// Each way to read it ends with a value, or with a failure that says what is wrong.
template <class Value>
bool is_read(const Result<Value>& result) {
    if (result.ok()) return true;
    expect(!result.failure().sentence.empty(), "a failure has a sentence");
    return false;
}

void expect_times(const std::vector<Place>& places) {
    for (const Place& place : places) {
        const std::chrono::nanoseconds left = place.lease_left;
        const std::chrono::nanoseconds age = place.age.value_or(place.lease_left);
        expect(left.count() != INT64_MIN && age.count() != INT64_MIN, "a time can be turned round");
    }
}

template <class Answers, class Reply>
void read_verbs(const Answers& answers, const Reply& reply) {
    if (const auto entries = answers.entries(reply, asked); is_read(entries)) {
        expect(entries.value().size() <= asked.size(), "nobody enters who did not ask");
        for (const auto& entry : entries.value()) expect_a_moment(entry.standing);
    }
    if (const auto standings = answers.standings(reply, 2); is_read(standings)) {
        expect(standings.value().size() == 2, "each has a standing");
        for (const auto& standing : standings.value()) expect_a_moment(standing);
    }
    if (const auto left = answers.left(reply); is_read(left)) expect_a_moment(left.value());
}

void read_by(const redis::Layout& layout, const redis::Reply& reply) {
    const std::string store = "redis";
    const redis::Answers answers(store, layout);
    read_verbs(answers, reply);
    static_cast<void>(answers.news(reply));
    static_cast<void>(layout.next_page(reply));
    if (const auto line = layout.line_of("orders", reply)) {
        expect_times(line->holders);
        expect_times(line->waiters);
    }
    for (const auto& element : reply.elements) {
        static_cast<void>(layout.objection_to_key(element.text));
        static_cast<void>(layout.resource_of(element.text));
    }
}

void read_redis(std::string_view bytes) {
    static const std::array<std::unique_ptr<redis::Layout>, 3> layouts{
        redis::holdfast_layout(), redis::plain_layout(),
        redis::redisson_layout(std::chrono::seconds{30})};
    redis::ReplyReader reader;
    reader.feed(bytes);
    std::vector<redis::Reply> replies;
    try {
        while (auto reply = reader.next()) replies.push_back(std::move(*reply));
    } catch (const Error&) {
        // The other target's.
    }
    // A question about a cluster has so many answers.
    const std::size_t questions = redis::question_about_cluster().size();
    for (std::size_t i = 0; i + questions <= replies.size(); ++i) {
        static_cast<void>(
            redis::cluster_map_in(std::span(replies).subspan(i, questions), "127.0.0.1"));
    }
    for (const auto& reply : replies) {
        for (const auto& layout : layouts) read_by(*layout, reply);
        const auto heard = redlock::heard_in({.result = reply});
        const std::chrono::nanoseconds after = heard.vote.after;
        expect(after.count() != INT64_MIN, "a time can be turned round");
    }
}

/// A line of bytes is a row, a tab between columns.
sql::Reply rows_in(std::string_view bytes) {
    sql::Reply reply;
    reply.rows.emplace_back(1);
    for (const char byte : bytes) {
        if (byte == '\n') {
            reply.rows.emplace_back(1);
        } else if (byte == '\t') {
            reply.rows.back().emplace_back();
        } else {
            reply.rows.back().back() += byte;
        }
    }
    return reply;
}

void read_sql(std::string_view bytes) {
    for (const auto tables : {sql::Tables::holdfast, sql::Tables::shedlock}) {
        const sql::Answers answers("postgres", sql::Calls(tables, "client"));
        sql::Reply reply = rows_in(bytes);
        read_verbs(answers, reply);
        is_read(answers.swept(reply));
        static_cast<void>(sql::take_next_page(reply));
        if (const auto lines = answers.lines(reply); is_read(lines)) {
            for (const Line& line : lines.value()) {
                expect_times(line.holders);
                expect_times(line.waiters);
            }
        }
    }
    static_cast<void>(sql::Answers::news(std::string(bytes)));
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::fuzz;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    read_redis(bytes);
    read_sql(bytes);
    return 0;
}
