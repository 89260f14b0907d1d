#include <algorithm>
#include <utility>

#include "port/told_time.hpp"
#include "stores/net/secret.hpp"
#include "stores/redis/layout.hpp"
#include "stores/redis/redis_scripts.hpp"
#include "stores/scripted/promises.hpp"
#include "stores/scripted/words.hpp"

/// Our own layout: a line for each resource, offers to the next, pushes to whom they concern.
namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view channel_prefix = "holdfast:";
constexpr auto digits = scripted::Digits::upper;

/// What all keys begin with; the bucket's number follows, and what closes its tag.
constexpr std::string_view tag_begin = "{holdfast/";
constexpr std::size_t bucket_digits = 3;
constexpr std::size_t tag_size = tag_begin.size() + bucket_digits + 1;

/// The bucket of a name, in hexadecimal digits: 4096 in all, by FNV-1a. All clients of a server
/// must agree on it.
void append_bucket(std::string_view resource, std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : resource) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    hash ^= hash >> 32U;
    for (const unsigned shift : {8U, 4U, 0U}) text += "0123456789abcdef"[(hash >> shift) & 0xfU];
}

/// So many keys of a resource a script is handed: see layout.lua.
constexpr std::size_t count_of(Handed handed) {
    return handed == Handed::all ? 7 : 2;
}

/// Keys of the resource that has this one for its line. A name has no # in it.
void append_keys(Command& command, std::string_view line, Handed handed) {
    command << line;
    command.join(line.substr(0, tag_size), "#fence");
    if (handed == Handed::usual) return;
    for (const char* const kind : {"#holders", "#waiters", "#order", "#left", "#"}) {
        command.join(line, kind);
    }
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
    return {.ticket = {resource, scripted::nonce_of(field[0].text).value_or(Nonce{}),
                       std::to_string(field[8].integer)},
            .owner = field[1].text,
            .weight = static_cast<std::uint64_t>(field[2].integer),
            .fence = static_cast<std::uint64_t>(field[3].integer),
            .lease_left = told_as<std::chrono::milliseconds>(field[4].integer),
            .host = field[5].text,
            .pid = static_cast<int>(field[6].integer),
            .age = told_as<std::chrono::milliseconds>(field[7].integer)};
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
    explicit HoldfastLayout(Handed handed) : handed_(handed) {}

    Capabilities capabilities() const override { return scripted::everything; }
    RedisWire::Pushes pushes() const override {
        return {.channel = std::string(channel_prefix) + client_};
    }

    std::string key_of(std::string_view resource) const override {
        std::string key;
        key.reserve(tag_size + resource.size() + 8);
        key += tag_begin;
        append_bucket(resource, key);
        key += '}';
        scripted::append_escaped(resource, digits, key);
        return key;
    }

    Command enter(std::span<const Contender> contenders) const override {
        Command command(enter_, count_of(handed_) * contenders.size());
        for (const Contender& one : contenders) append_keys(command, key_of(one.resource), handed_);
        for (const Contender& one : contenders) {
            // A key that ends in a millisecond is still there then.
            const auto lifetime = std::max<std::int64_t>(one.lease.count() - 1, 1);
            command << entrant(one) << lifetime << manner(one);
        }
        command.with_standings(4);
        return command;
    }
    Command standing(const Ticket& ticket) const override {
        Command command = about(standing_, ticket);
        command.with_standings(3);
        return std::move(command << ticket.nonce);
    }
    Command renew(std::span<const Ticket> tickets, std::span<const std::size_t> which,
                  const Extension& extension) const override {
        Command command = about(renew_, tickets[which.front()]);
        command << extension.lease.count() << extension.serial;
        for (const std::size_t i : which) command << tickets[i].nonce;
        command.with_standings(3);
        return command;
    }
    /// They may be for several nodes, and are answered together. So that one that says nothing does
    /// not keep the answers of the others until their leases have ended, it has a third of a lease.
    std::vector<scripted::Batch<Command>> renewals(std::span<const Ticket> tickets,
                                                   std::span<const std::size_t> which,
                                                   const Extension& extension) const override {
        auto batches = Layout::renewals(tickets, which, extension);
        if (handed_ == Handed::usual || batches.size() == 1) return batches;
        for (auto& batch : batches) {
            batch.request.be_patient_for(
                std::max<std::chrono::milliseconds>(extension.lease / 3, 100ms));
        }
        return batches;
    }
    Command leave(const Ticket& ticket, std::chrono::milliseconds tombstone) const override {
        Command command = about(leave_, ticket);
        return std::move((command << ticket.nonce << tombstone.count()).passing());
    }
    Command inspect(const std::string& key, const std::string& page) const override {
        Command command(inspect_, count_of(handed_));
        append_keys(command, key, handed_);
        return std::move(command << page);
    }
    std::string next_page(const Reply& reply) const override {
        return reply.elements.size() == 5 ? reply.elements[4].text : std::string();
    }

    std::string place_of(const Contender&, std::int64_t number) const override {
        return std::to_string(number);
    }
    std::optional<std::chrono::nanoseconds> look_again(std::int64_t milliseconds) const override {
        if (milliseconds < 0) return std::nullopt;
        return told_as<std::chrono::milliseconds>(milliseconds);
    }

    /// Also what an older layout would have called such names, to tell of it.
    Result<Search> search(std::string_view prefix) const override {
        return Search{.pattern = "{*" + scripted::escaped(prefix, digits) + "*"};
    }
    std::optional<std::string> resource_of(const std::string& key) const override {
        if (!key.starts_with(tag_begin) || key.size() <= tag_size) return std::nullopt;
        auto resource = scripted::unescaped(std::string_view(key).substr(tag_size), digits);
        if (!resource || key_of(*resource) != key) return std::nullopt;
        return resource;
    }
    /// The first layout had the whole name in the braces, with the usual prefix.
    std::optional<std::string> objection_to_key(const std::string& key) const override {
        if (!key.starts_with(tag_begin) || !key.ends_with('}')) return std::nullopt;
        return "the key " + net::quotable(key) +
               " is a lock of an older holdfast, which this one does not see; let all clients have "
               "the same version, then delete what the older one has left";
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
    Command about(const Script& script, const Ticket& ticket) const {
        Command command(script, count_of(handed_));
        append_keys(command, key_of(ticket.resource), handed_);
        return command;
    }

    /// As a lone line has it, from its nonce on; this is its serial before any renewal.
    std::string entrant(const Contender& one) const {
        std::string packed;
        packed.reserve(client_.size() + one.owner.size() + one.host.size() + 96);
        packed.resize(2 * one.nonce.bytes.size());
        scripted::write_hex(one.nonce, packed.data());
        append_packed(std::to_string(one.lease.count()), packed);
        append_packed("0", packed);
        append_packed(std::to_string(one.weight), packed);
        append_packed(std::to_string(one.capacity), packed);
        append_packed(one.fairness == Fairness::fifo ? "f" : "b", packed);
        append_packed(client_, packed);
        append_packed(one.owner, packed);
        append_packed(one.host, packed);
        append_packed(std::to_string(one.pid), packed);
        return packed;
    }
    static std::string_view manner(const Contender& one) {
        if (one.patience == Patience::wait) return one.reenter ? "w1" : "w0";
        return one.reenter ? "n1" : "n0";
    }

    const Handed handed_;
    const std::unique_ptr<scripted::Waiters> waiters_ = std::make_unique<scripted::Waiters>();
    const std::string client_ = scripted::random_client();
    const Script together_{scripts::holdfast_together};
    const Script enter_{scripts::holdfast_enter, together_, "enter", count_of(handed_)};
    const Script standing_{scripts::holdfast_standing};
    const Script renew_{scripts::holdfast_renew};
    const Script leave_{scripts::holdfast_leave, together_, "leave", count_of(handed_)};
    const Script inspect_{scripts::holdfast_inspect};
};

}  // namespace

std::unique_ptr<Layout> holdfast_layout(Handed handed) {
    return std::make_unique<HoldfastLayout>(handed);
}

}  // namespace holdfast::inline v0::redis
