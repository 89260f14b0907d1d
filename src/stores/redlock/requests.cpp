#include "stores/redlock/requests.hpp"
#include "port/told_time.hpp"

#include <utility>

namespace holdfast::inline v0::redlock {

using redis::Command;
using redis::Reply;

namespace {

/// Of a key: "{holdfast/BBB}".
constexpr std::size_t tag_size = 14;
constexpr std::string_view marker = "holdfast/=run";
constexpr std::size_t keys = 5;

bool is_number(const Reply& reply) {
    return reply.kind == Reply::Kind::integer;
}

Vote::Kind kind_of(std::int64_t number) {
    switch (number) {
        case 1:
            return Vote::Kind::admitted;
        case 2:
            return Vote::Kind::busy;
        case 3:
            return Vote::Kind::gone;
        case 4:
            return Vote::Kind::forgetful;
        case 5:
            return Vote::Kind::ahead;
        case 6:
            return Vote::Kind::disagreed;
        case 7:
            return Vote::Kind::other_set;
        default:
            return Vote::Kind::silent;
    }
}

}  // namespace

/// Its owner comes last, for that may have any character.
Profile Requests::profile_of(const Contender& contender) const {
    Profile profile = profile_of(contender.resource);
    profile.weight = contender.weight;
    profile.capacity = contender.capacity;
    profile.who = contender.host + ' ' + std::to_string(contender.pid) + ' ' + contender.owner;
    if (contender.patience == Patience::wait) {
        profile.caller = client_ + ' ' + scripted::hex_of(contender.nonce);
    }
    return profile;
}

Profile Requests::profile_of(const std::string& resource) const {
    return {.resource = resource, .key = key_of(resource), .who = {}, .caller = {}};
}

Command Requests::about(const redis::Script& script, const std::string& key) const {
    Command command(script, keys);
    command.join(key, "=");
    command.join(std::string_view(key).substr(0, tag_size), "#fence");
    command.join(key, "=left").join(key, "=called") << marker;
    return std::move(command.with_run() << terms_.max_lease.count() << set_);
}

Command Requests::enter(const Profile& profile, const Nonce& nonce, std::chrono::milliseconds lease,
                        std::uint64_t proposal) const {
    Command command = about(enter_, profile.key);
    command << nonce << lease.count() << profile.weight << profile.capacity << proposal;
    return std::move(command << profile.who << profile.caller << lease.count());
}

Command Requests::renew(const Profile& profile, const Nonce& nonce, const Extension& extension,
                        std::uint64_t fence) const {
    Command command = about(renew_, profile.key);
    return std::move(command << nonce << extension.lease.count() << extension.serial << fence);
}

Command Requests::leave(const Profile& profile, const Nonce& nonce,
                        std::chrono::milliseconds tombstone, Calls calls) const {
    Command command = about(leave_, profile.key);
    const bool keeps_waiting = calls == Calls::none;
    command << nonce << tombstone.count()
            << (keeps_waiting ? std::string_view() : std::string_view(profile.caller));
    return std::move((command << (keeps_waiting ? "quietly" : "")).passing());
}

Command Requests::look(const std::string& key) const {
    return about(look_, key);
}

Command Requests::scan(std::string_view prefix, const std::string& cursor) const {
    const auto pattern = layout_->search(prefix).value().pattern;
    return {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "hash"};
}

Command Requests::scan_all(const std::string& cursor) const {
    return {"SCAN", cursor, "MATCH", "{holdfast/*", "COUNT", "1000"};
}

Command Requests::mark() const {
    Command command(mark_, 1);
    return std::move((command << marker).with_run());
}

std::optional<std::string> Requests::resource_of(std::string_view key) const {
    if (!key.ends_with('=')) return std::nullopt;
    return layout_->resource_of(std::string(key.substr(0, key.size() - 1)));
}

Heard heard_in(const redis::Answer& answer) {
    const Heard nothing{.vote = {.kind = Vote::Kind::silent}};
    if (!answer.result.ok()) return nothing;
    const auto& parts = answer.result.value().elements;
    if (parts.size() < 3 || !is_number(parts[0]) || !is_number(parts[1]) || !is_number(parts[2])) {
        return nothing;
    }
    Heard heard{.vote = {.kind = kind_of(parts[0].integer),
                         .fence = static_cast<std::uint64_t>(parts[1].integer)},
                .clock = told_as<std::chrono::microseconds>(parts[2].integer)};
    if (parts.size() > 3) heard.vote.after = told_as<std::chrono::milliseconds>(parts[3].integer);
    if (parts.size() > 4) {
        heard.vote.rival = scripted::nonce_of(parts[4].text).value_or(Nonce{});
    }
    if (parts.size() > 6) {
        heard.ages = {.counted = told_as<std::chrono::milliseconds>(parts[5].integer),
                      .named = told_as<std::chrono::milliseconds>(parts[6].integer)};
    }
    return heard;
}

}  // namespace holdfast::inline v0::redlock
