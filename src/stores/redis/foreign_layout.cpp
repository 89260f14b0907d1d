#include <algorithm>
#include <utility>

#include "port/told_time.hpp"
#include "stores/net/backoff.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/promises.hpp"
#include "stores/redis/redis_scripts.hpp"
#include "stores/redis/summoned_waiters.hpp"
#include "stores/scripted/words.hpp"

/// The layouts of others: the lock is theirs, so there is no line and no offer. Whoever waits does
/// so in its own process alone, and is told by the server's tracking when the key has changed.
namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

/// How long one waits at most before it looks, should nothing be pushed.
constexpr std::chrono::milliseconds longest_look{1000};

/// A place that names the holder as inspect does, by what stands in the lock: for others' too.
constexpr char by_value = '=';

/// What the keys begin with that we keep beside the locks.
constexpr std::string_view own_keys = "holdfast_";

constexpr char reader = 'r';

/// x: a lock; r, w: a reader or the writer of a read-write lock.
std::string_view mode_of(const Contender& contender) {
    if (contender.form != Form::read_write) return "x";
    return contender.weight == all ? "w" : std::string_view(&reader, 1);
}

/// As a record ends: see beside_record.lua.
std::string who(const Contender& one) {
    return " " + std::to_string(one.pid) + " " + std::to_string(one.host.size()) + " " + one.host +
           one.owner;
}

/// A pattern for SCAN that matches the text itself.
std::string literal_pattern(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

struct Texts {
    std::string_view enter, standing, renew, leave, inspect;
};

class ForeignLayout : public Layout {
public:
    ForeignLayout(const Texts& texts, std::string type)
        : enter_(texts.enter),
          standing_(texts.standing),
          renew_(texts.renew),
          leave_(texts.leave),
          inspect_(texts.inspect),
          type_(std::move(type)) {}

    RedisWire::Pushes pushes() const override {
        return {.channel = "__redis__:invalidate", .tracked = true};
    }

    std::string key_of(std::string_view resource) const override { return std::string(resource); }

    std::optional<std::string> objection_to_name(std::string_view resource) const override {
        if (!resource.starts_with(own_keys)) return std::nullopt;
        return "what starts with " + std::string(own_keys) +
               " are keys of holdfast's own in this layout; choose another name";
    }

    Command enter(std::span<const Contender> contenders) const override {
        Command command(enter_, contenders.size());
        for (const Contender& one : contenders) command << one.resource;
        command << (contenders.front().patience == Patience::wait ? "w" : "n");
        for (const Contender& one : contenders) {
            command << one.nonce << who(one) << one.lease.count();
            command.join(mode_of(one), one.reenter ? "j" : "");
        }
        return command;
    }
    Command standing(const Ticket& ticket) const override {
        Command command(standing_, 1);
        return std::move(command << ticket.resource << ticket.nonce << mode(ticket)
                                 << (waiters_->is_waiting(ticket.nonce) ? "w" : "h"));
    }
    Command renew(std::span<const Ticket> tickets, std::span<const std::size_t> which,
                  const Extension& extension) const override {
        Command command(renew_, 1);
        command << tickets[which.front()].resource << extension.lease.count() << extension.serial;
        for (const std::size_t i : which) {
            const Ticket& ticket = tickets[i];
            const auto waiter = waiters_->begin_claim(ticket.nonce, extension.serial);
            const Contender& one = waiter ? *waiter : Contender{};
            command << ticket.nonce << (waiter ? "w" : "h") << mode(ticket) << who(one)
                    << (one.reenter ? "1" : "0");
        }
        return command;
    }
    Command leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const override {
        Command command(leave_, 1);
        const bool named = !ticket.place.empty() && ticket.place.front() == by_value;
        command << ticket.resource << ticket.nonce << tombstone.count();
        if (named) command << std::string_view(ticket.place).substr(1);
        return std::move(command.passing());
    }
    Command inspect(const std::string& key, const std::string&) const override {
        Command command(inspect_, 1);
        return std::move(command << key);
    }
    std::string next_page(const Reply&) const override { return {}; }

    std::string place_of(const Contender& contender, std::int64_t) const override {
        return std::string(mode_of(contender));
    }
    /// Not all at the same moment, and not only when the holder's lease ends.
    std::optional<std::chrono::nanoseconds> look_again(std::int64_t milliseconds) const override {
        const bool ends = milliseconds >= 0 && milliseconds < longest_look.count();
        const std::chrono::nanoseconds look =
            ends ? std::chrono::milliseconds{milliseconds + 1} : longest_look;
        return look + net::random_time(look / 4);
    }

    Result<Search> search(std::string_view prefix) const override {
        if (prefix.empty()) {
            return Failure{errc::invalid_argument, Effect::none,
                           "in this layout any key might be a lock; give a PREFIX"};
        }
        return Search{.pattern = literal_pattern(prefix) + "*", .type = type_};
    }
    std::optional<std::string> resource_of(const std::string& key) const override {
        if (key.starts_with(own_keys)) return std::nullopt;
        return key;
    }
    std::optional<Line> line_of(const std::string& resource, const Reply& reply) const override {
        Line line{.resource = resource,
                  .capacity = all,
                  .fairness = Fairness::barging,
                  .holders = {},
                  .waiters = {}};
        for (const Reply& holder : reply.elements) {
            if (holder.elements.size() == 9) line.holders.push_back(place_from(resource, holder));
        }
        if (line.holders.empty()) return std::nullopt;
        return line;
    }

    /// ["message", "__redis__:invalidate", [key...]], or nil instead of keys after a flush. Of
    /// those who wait for a key, whoever has done so longest is told.
    scripted::News news(const Reply& message) const override {
        using Whom = scripted::News::Whom;
        if (message.elements.size() != 3 || message.elements[0].text != "message") return {};
        if (message.elements[2].kind == Reply::Kind::nil) return {.whom = Whom::everybody};
        scripted::News news{.standing = {.state = Standing::State::offered}};
        for (const Reply& key : message.elements[2].elements) {
            if (const auto first = waiters_->first(key.text)) news.nonces.push_back(*first);
        }
        return news;
    }
    scripted::Waiters& waiters() const override { return *waiters_; }

private:
    static std::string_view mode(const Ticket& ticket) {
        return ticket.place.empty() ? "x" : std::string_view(ticket.place).substr(0, 1);
    }

    static Place place_from(const std::string& resource, const Reply& reply) {
        const auto& field = reply.elements;
        Place place{.ticket = {resource, scripted::nonce_of(field[0].text).value_or(Nonce{}),
                               by_value + field[8].text},
                    .owner = field[1].text,
                    .weight = field[7].text == "r" ? 1 : all,
                    .fence = static_cast<std::uint64_t>(field[2].integer),
                    .lease_left = told_as<std::chrono::milliseconds>(field[3].integer),
                    .host = field[4].text,
                    .pid = static_cast<int>(field[5].integer),
                    .foreign = field[0].text.empty()};
        if (field[6].integer >= 0) place.age = told_as<std::chrono::milliseconds>(field[6].integer);
        return place;
    }

    const std::unique_ptr<SummonedWaiters> waiters_ = std::make_unique<SummonedWaiters>();
    const Script enter_, standing_, renew_, leave_, inspect_;
    const std::string type_;
};

class PlainLayout final : public ForeignLayout {
public:
    PlainLayout()
        : ForeignLayout({scripts::plain_enter, scripts::plain_standing, scripts::plain_renew,
                         scripts::plain_leave, scripts::plain_inspect},
                        "string") {}
    Capabilities capabilities() const override { return plain; }
};

class RedissonLayout final : public ForeignLayout {
public:
    explicit RedissonLayout(std::chrono::milliseconds watchdog)
        : ForeignLayout(
              {scripts::redisson_enter, scripts::redisson_standing, scripts::redisson_renew,
               scripts::redisson_leave, scripts::redisson_inspect},
              "hash"),
          watchdog_(watchdog) {}
    Capabilities capabilities() const override { return redisson(watchdog_); }

    /// All readers have one expiry in common, and each renewal of a Redisson reader sets it to that
    /// reader's own time, without looking: a longer lease of ours would end with it.
    std::optional<std::string> objection_to_lease(std::string_view place,
                                                  std::chrono::milliseconds lease) const override {
        if (!place.starts_with(reader) || lease <= watchdog_) return std::nullopt;
        return "a shared lease of " + std::to_string(lease.count()) +
               " ms; Redisson's readers cut " + "it to " + std::to_string(watchdog_.count()) +
               " ms, so ask for no more, or give their lockWatchdogTimeout as watchdog=";
    }

private:
    const std::chrono::milliseconds watchdog_;
};

}  // namespace

std::unique_ptr<Layout> plain_layout() {
    return std::make_unique<PlainLayout>();
}
std::unique_ptr<Layout> redisson_layout(std::chrono::milliseconds watchdog) {
    return std::make_unique<RedissonLayout>(watchdog);
}

}  // namespace holdfast::inline v0::redis
