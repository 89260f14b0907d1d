#include "stores/redlock/survey.hpp"
#include "port/told_time.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>

namespace holdfast::inline v0::redlock {

namespace {

template <class Number>
Number number_in(std::string_view text) {
    Number number{};
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string_view next_word(std::string_view& rest) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return word;
}

/// { nonce, weight, fence, lease left, age, who }: who it is, as a Profile has it.
std::optional<Place> place_in(const std::string& resource, const redis::Reply& reply) {
    const auto& part = reply.elements;
    if (part.size() != 6) return std::nullopt;
    const auto nonce = scripted::nonce_of(part[0].text);
    if (!nonce) return std::nullopt;
    std::string_view who = part[5].text;
    const auto host = next_word(who);
    const auto pid = next_word(who);
    return Place{.ticket = {resource, *nonce, "="},
                 .owner = std::string(who),
                 .weight = static_cast<std::uint64_t>(part[1].integer),
                 .fence = number_in<std::uint64_t>(part[2].text),
                 .lease_left = told_as<std::chrono::milliseconds>(part[3].integer),
                 .host = std::string(host),
                 .pid = number_in<int>(pid),
                 .age = told_as<std::chrono::milliseconds>(part[4].integer)};
}

/// What so many of them say at least, or else the highest.
template <class Member>
auto highest_of(std::vector<Place> places, std::size_t that_many, Member member) {
    std::ranges::sort(places, std::ranges::greater{}, member);
    const std::size_t which = places.size() < that_many ? 0 : that_many - 1;
    return std::invoke(member, places[which]);
}

}  // namespace

Pending<std::vector<Line>> Survey::of_all(std::string prefix) {
    prefix_ = std::move(prefix);
    for (std::size_t i = 0; i < progress_.size(); ++i) scan(i, "0");
    return Pending<std::vector<Line>>({shared_from_this(), &flight_});
}

Pending<std::vector<Line>> Survey::of_one(const std::string& resource) {
    for (std::size_t i = 0; i < progress_.size(); ++i) look(i, resource);
    return Pending<std::vector<Line>>({shared_from_this(), &flight_});
}

void Survey::ask(std::size_t node, redis::Command command,
                 Callback<void(const redis::Answer&)> take) {
    desk_.wire.submit(
        node, std::move(command),
        [self = shared_from_this(), node, take = std::move(take)](const redis::Answer& answer) {
            const auto store = self->desk_.store.lock();
            if (!store) return;
            if (answer.result.ok()) take(answer);
            Lock lock(self->mutex_);
            --self->progress_[node].due;
            if (!answer.result.ok()) {
                self->progress_[node].failed = true;
                self->failure_ = answer.result.failure();
            }
            self->go_on(std::move(lock));
        },
        desk_.wire.until());
}

void Survey::scan(std::size_t node, const std::string& cursor) {
    ask(node, desk_.requests.scan(prefix_, cursor),
        [this, node](const redis::Answer& answer) { scanned(node, answer); });
}

/// A scan may give a key more than once, and then it is looked at again.
void Survey::scanned(std::size_t node, const redis::Answer& answer) {
    const auto& parts = answer.result.value().elements;
    if (parts.size() != 2) return;
    std::set<std::string> resources;
    for (const redis::Reply& key : parts[1].elements) {
        auto resource = desk_.requests.resource_of(key.text);
        if (resource && resource->starts_with(prefix_)) resources.insert(*std::move(resource));
    }
    const bool goes_on = parts[0].text != "0";
    {
        const Lock lock(mutex_);
        progress_[node].due += resources.size() + (goes_on ? 1 : 0);
    }
    for (const std::string& resource : resources) look(node, resource);
    if (goes_on) scan(node, parts[0].text);
}

void Survey::look(std::size_t node, const std::string& resource) {
    ask(node, desk_.requests.look(desk_.requests.key_of(resource)),
        [this, node, resource](const redis::Answer& answer) { looked(node, resource, answer); });
}

void Survey::looked(std::size_t node, const std::string& resource, const redis::Answer& answer) {
    const Lock lock(mutex_);
    for (const redis::Reply& holder : answer.result.value().elements) {
        auto place = place_in(resource, holder);
        if (!place) continue;
        auto& seen = seen_[resource][place->ticket.nonce];
        seen.emplace(node, *std::move(place));
    }
}

std::size_t Survey::complete() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        progress_, [](const Progress& one) { return one.due == 0 && !one.failed; }));
}

void Survey::go_on(Lock lock) {
    if (is_over_) return;
    const bool all =
        std::ranges::all_of(progress_, [](const Progress& one) { return one.due == 0; });
    if (all) {
        is_over_ = true;
        auto result = outcome();
        lock.unlock();
        return flight_.complete(std::move(result));
    }
    if (is_waited_for_ || complete() < desk_.terms().majority()) return;
    is_waited_for_ = true;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        if (progress_[i].due > 0) others.push_back(i);
    }
    lock.unlock();
    const auto grace = grace_for(desk_, others, began_);
    if (grace == grace.zero()) return give_up();
    desk_.wire.at(BootClock::now() + grace, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->give_up();
    });
}

/// Who has not said all by now is not heard.
void Survey::give_up() {
    Lock lock(mutex_);
    for (Progress& one : progress_) {
        one.failed |= one.due > 0;
        one.due = 0;
    }
    go_on(std::move(lock));
}

Result<std::vector<Line>> Survey::outcome() const {
    if (complete() < desk_.terms().majority()) {
        return Failure{failure_ ? failure_->code : errc::unreachable, Effect::none,
                       desk_.description + ": " + std::to_string(complete()) + " of " +
                           std::to_string(progress_.size()) +
                           " nodes told who holds, and it takes " +
                           std::to_string(desk_.terms().majority()) +
                           (failure_ ? "; " + failure_->sentence : "")};
    }
    std::vector<Line> lines;
    for (const auto& [resource, seen] : seen_) lines.push_back(line_of(resource, seen));
    return lines;
}

Line Survey::line_of(const std::string& resource, const std::map<Nonce, Sightings>& seen) const {
    Line line{.resource = resource,
              .capacity = all,
              .fairness = Fairness::barging,
              .holders = {},
              .waiters = {}};
    for (const auto& [nonce, sightings] : seen) line.holders.push_back(together(sightings));
    return line;
}

Place Survey::together(const Sightings& sightings) const {
    std::vector<Place> places;
    for (const auto& [node, place] : sightings) places.push_back(place);
    const std::size_t majority = desk_.terms().majority();
    Place place = places.front();
    place.fence = highest_of(places, majority, &Place::fence);
    place.lease_left = highest_of(places, majority, &Place::lease_left);
    if (places.size() >= majority) return place;
    const std::size_t unheard = progress_.size() - complete();
    const std::string on = " (on " + std::to_string(places.size()) + " of ";
    place.owner +=
        places.size() + unheard < majority
            ? on + std::to_string(progress_.size()) + " nodes: it does not hold)"
            : on + "the " + std::to_string(complete()) + " nodes that answered: it may hold)";
    return place;
}

}  // namespace holdfast::inline v0::redlock
