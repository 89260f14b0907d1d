#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <new>
#include <system_error>
#include <utility>

#include "stores/redis/key_name.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/nonce_text.hpp"
#include "stores/redis/redis_scripts.hpp"

/// Our own layout: a line for each resource, offers to the next, pushes to whom they concern.
namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view channel_prefix = "holdfast:";

std::string random_client() {
    Nonce random;
    if (getentropy(random.bytes.data(), random.bytes.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return hex_of(random);
}

/// A text in MessagePack.
void append_packed(std::string_view text, std::string& packed) {
    const std::size_t size = text.size();
    if (size < 32) {
        packed += static_cast<char>(0xa0U | size);
    } else if (size < 256) {
        packed += '\xd9';
        packed += static_cast<char>(size);
    } else {
        packed += '\xda';
        packed += static_cast<char>(size >> 8U);
        packed += static_cast<char>(size & 0xffU);
    }
    packed += text;
}

Place place_from(const std::string& resource, const Reply& reply) {
    const auto& field = reply.elements;
    return {.ticket = {resource, nonce_of(field[0].text).value_or(Nonce{}),
                       std::to_string(field[8].integer)},
            .owner = field[1].text,
            .weight = static_cast<std::uint64_t>(field[2].integer),
            .fence = static_cast<std::uint64_t>(field[3].integer),
            .lease_left = std::chrono::milliseconds{field[4].integer},
            .host = field[5].text,
            .pid = static_cast<int>(field[6].integer),
            .age = std::chrono::milliseconds{field[7].integer}};
}

std::vector<Place> places_from(const std::string& resource, const Reply& reply) {
    std::vector<Place> places;
    for (const Reply& element : reply.elements) {
        if (element.elements.size() == 9) places.push_back(place_from(resource, element));
    }
    return places;
}

class HoldfastLayout final : public Layout {
public:
    Capabilities capabilities() const override {
        return {.fifo = true,
                .barging = true,
                .default_fairness = Fairness::fifo,
                .shared = true,
                .permits = true,
                .reenter = true,
                .enter_together = true};
    }
    RedisWire::Pushes pushes() const override {
        return {.channel = std::string(channel_prefix) + client_};
    }

    std::string key_of(std::string_view resource) const override {
        std::string key;
        key.reserve(resource.size() + 2);
        key += '{';
        append_escaped(resource, key);
        key += '}';
        return key;
    }

    std::optional<std::string> objection_to(std::string_view) const override {
        return std::nullopt;  // our prefix is before every key
    }
    std::optional<std::string> objection_to(std::string_view,
                                            std::chrono::milliseconds) const override {
        return std::nullopt;
    }

    Command enter(std::span<const Contender> contenders) const override {
        Command command(enter_, contenders.size());
        for (const Contender& one : contenders) command << key_of(one.resource);
        for (const Contender& one : contenders) {
            command << one.nonce << who(one) << one.weight << one.capacity
                    << (one.fairness == Fairness::fifo ? "f" : "b")
                    << (one.patience == Patience::wait ? "w" : "n") << one.lease.count()
                    << (one.reenter ? "1" : "0");
        }
        return command;
    }
    Command standing(const Ticket& ticket, const Waiter*) const override {
        Command command(standing_, 1);
        return std::move(command << key_of(ticket.resource) << ticket.nonce);
    }
    Command renew(std::span<const Renewal> renewals, const Extension& extension) const override {
        Command command(renew_, 1);
        command << key_of(renewals.front().ticket.resource) << extension.lease.count()
                << extension.serial;
        for (const Renewal& renewal : renewals) command << renewal.ticket.nonce;
        return command;
    }
    Command leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const override {
        Command command(leave_, 1);
        return std::move(command << key_of(ticket.resource) << ticket.nonce << tombstone.count());
    }
    Command inspect(const std::string& key, const std::string& page) const override {
        Command command(inspect_, 1);
        return std::move(command << key << page);
    }
    std::string next_page(const Reply& reply) const override {
        return reply.elements.size() == 5 ? reply.elements[4].text : std::string();
    }

    std::string place_of(const Contender&, std::int64_t number) const override {
        return std::to_string(number);
    }
    std::optional<std::chrono::nanoseconds> look_again(std::int64_t milliseconds) const override {
        if (milliseconds < 0) return std::nullopt;
        return std::chrono::milliseconds{milliseconds};
    }

    Result<Search> search(std::string_view prefix) const override {
        return Search{.pattern = "{" + escaped(prefix) + "*}", .type = "hash"};
    }
    std::optional<std::string> resource_of(const std::string& key) const override {
        if (key.size() < 3 || key.front() != '{' || key.back() != '}') return std::nullopt;
        return unescaped(std::string_view(key).substr(1, key.size() - 2));
    }
    std::optional<Line> line_of(const std::string& resource, const Reply& reply) const override {
        if (reply.elements.size() != 5) return std::nullopt;
        const bool fifo = reply.elements[1].text == "f";
        return Line{.resource = resource,
                    .capacity = static_cast<std::uint64_t>(reply.elements[0].integer),
                    .fairness = fifo ? Fairness::fifo : Fairness::barging,
                    .holders = places_from(resource, reply.elements[2]),
                    .waiters = places_from(resource, reply.elements[3])};
    }

    /// ["message", channel, "NONCE o"], "NONCE g" or "NONCE w MILLISECONDS".
    Told told(const Reply& message) const override {
        if (message.elements.size() != 3 || message.elements[0].text != "message") return {};
        const std::string_view text = message.elements[2].text;
        const auto nonce = nonce_of(text.substr(0, std::min<std::size_t>(text.size(), 32)));
        if (!nonce || text.size() < 34) return {};
        Told told{.nonce = nonce};
        switch (text[33]) {
            case 'o':
                told.standing.state = Standing::State::offered;
                break;
            case 'g':
                break;
            default:
                told.standing = {.state = Standing::State::waiting,
                                 .look_again = pushed_look(text.substr(34))};
        }
        return told;
    }
    bool waiters_wake_each_other() const override { return false; }

private:
    /// As a contender's record has it.
    std::string who(const Contender& one) const {
        std::string packed;
        packed.reserve(client_.size() + one.owner.size() + one.host.size() + 24);
        append_packed(client_, packed);
        append_packed(one.owner, packed);
        append_packed(one.host, packed);
        append_packed(std::to_string(one.pid), packed);
        return packed;
    }

    static std::optional<std::chrono::nanoseconds> pushed_look(std::string_view text) {
        std::int64_t milliseconds = 0;
        if (text.empty()) return std::nullopt;
        const auto [end, error] =
            std::from_chars(text.data() + 1, text.data() + text.size(), milliseconds);
        if (error != std::errc{} || milliseconds < 0) return std::nullopt;
        return std::chrono::milliseconds{milliseconds};
    }

    const std::string client_ = random_client();
    const Script together_{scripts::holdfast_together};
    const Script enter_{scripts::holdfast_enter, together_, "enter"};
    const Script standing_{scripts::holdfast_standing};
    const Script renew_{scripts::holdfast_renew};
    const Script leave_{scripts::holdfast_leave, together_, "leave"};
    const Script inspect_{scripts::holdfast_inspect};
};

}  // namespace

std::unique_ptr<Layout> holdfast_layout() {
    return std::make_unique<HoldfastLayout>();
}

}  // namespace holdfast::inline v0::redis
