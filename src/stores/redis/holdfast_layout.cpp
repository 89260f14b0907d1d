#include <utility>

#include "stores/redis/layout.hpp"
#include "stores/redis/redis_scripts.hpp"
#include "stores/scripted/words.hpp"

/// Our own layout: a line for each resource, offers to the next, pushes to whom they concern.
namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view channel_prefix = "holdfast:";
constexpr auto digits = scripted::Digits::upper;

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
    return {.ticket = {resource, scripted::nonce_of(field[0].text).value_or(Nonce{}),
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
    Capabilities capabilities() const override { return scripted::everything; }
    RedisWire::Pushes pushes() const override {
        return {.channel = std::string(channel_prefix) + client_};
    }

    std::string key_of(std::string_view resource) const override {
        std::string key;
        key.reserve(resource.size() + 2);
        key += '{';
        scripted::append_escaped(resource, digits, key);
        key += '}';
        return key;
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
    Command standing(const Ticket& ticket) const override {
        Command command(standing_, 1);
        return std::move(command << key_of(ticket.resource) << ticket.nonce);
    }
    Command renew(std::span<const Ticket> tickets, std::span<const std::size_t> which,
                  const Extension& extension) const override {
        Command command(renew_, 1);
        command << key_of(tickets[which.front()].resource) << extension.lease.count()
                << extension.serial;
        for (const std::size_t i : which) command << tickets[i].nonce;
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
        return Search{.pattern = "{" + scripted::escaped(prefix, digits) + "*}", .type = "hash"};
    }
    std::optional<std::string> resource_of(const std::string& key) const override {
        if (key.size() < 3 || key.front() != '{' || key.back() != '}') return std::nullopt;
        return scripted::unescaped(std::string_view(key).substr(1, key.size() - 2), digits);
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

    /// ["message", channel, what one is told]
    scripted::News news(const Reply& message) const override {
        if (message.elements.size() != 3 || message.elements[0].text != "message") return {};
        return scripted::news_in(message.elements[2].text);
    }
    scripted::Waiters& waiters() const override { return *waiters_; }

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

    const std::unique_ptr<scripted::Waiters> waiters_ = std::make_unique<scripted::Waiters>();
    const std::string client_ = scripted::random_client();
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
