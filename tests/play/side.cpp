#include "play/side.hpp"

#include <algorithm>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;

std::string word_of(State state) {
    constexpr const char* words[] = {"waiting", "offered", "admitted", "gone"};
    return words[static_cast<std::size_t>(state)];
}

std::string in_words(const Failure& failure) {
    return "failed with " + std::to_string(static_cast<int>(failure.code)) +
           (failure.effect == Effect::none ? " (none)" : " (unknown)");
}

void add(Heard& heard, const Nonce& nonce, const Standing& standing) {
    heard.words += word_of(standing.state) + " ";
    heard.standings[nonce] = standing;
}

}  // namespace

/// Pushes come on threads of the store's.
struct Side::Bell {
    std::mutex mutex;
    std::condition_variable rung;
    std::set<Nonce> told;
};

Side::Side(std::shared_ptr<Store> store, const Rules& rules)
    : store_(std::move(store)),
      rules_(rules),
      bell_(std::make_shared<Bell>()),
      callbacks_(store_->wire().interest()) {}

Heard Side::enter(std::span<const Contender> contenders) {
    const auto result = store_->enter(contenders).get();
    if (!result.ok()) return {test::in_words(result.failure())};
    Heard heard;
    for (const Entry& entry : result.value()) {
        tickets_[entry.ticket.nonce] = entry.ticket;
        add(heard, entry.ticket.nonce, entry.standing);
        if (entry.standing.state == State::waiting) watch(entry.ticket);
    }
    // Then nothing of the request is left, and nobody has seen the fences.
    if (result.value().back().standing.state == State::gone) {
        for (auto& [nonce, standing] : heard.standings) standing = {};
    }
    return heard;
}

void Side::watch(const Ticket& ticket) {
    if (!rules_.in_line || watches_.contains(ticket.nonce)) return;
    watches_[ticket.nonce] =
        store_->watch(ticket, [bell = bell_, nonce = ticket.nonce](const Standing& standing) {
            if (standing.state != State::offered) return;
            const std::lock_guard guard(bell->mutex);
            bell->told.insert(nonce);
            bell->rung.notify_all();
        });
}

std::set<Nonce> Side::take_told() {
    const std::lock_guard guard(bell_->mutex);
    return std::exchange(bell_->told, {});
}

bool Side::await_told(const Nonce& nonce) {
    std::unique_lock lock(bell_->mutex);
    return bell_->rung.wait_for(lock, 20s, [&] { return bell_->told.contains(nonce); });
}

Heard Side::standing(const Contender& one) {
    return heard(one.nonce, store_->standing(ticket_of(one)).get());
}

Heard Side::renew(const std::vector<Contender>& contenders, Extension extension) {
    std::vector<Ticket> tickets;
    for (const Contender& one : contenders) tickets.push_back(ticket_of(one));
    const auto result = store_->renew(tickets, extension).get();
    if (!result.ok()) return {test::in_words(result.failure())};
    Heard heard;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        add(heard, contenders[i].nonce, result.value()[i]);
    }
    return heard;
}

Heard Side::leave(const Contender& one) {
    return heard_of_leaving(one.nonce, store_->leave(ticket_of(one)).get());
}

Heard Side::leave_unanswered(const Contender& one) {
    return heard_of_leaving(one.nonce, store_->leave({one.resource, one.nonce, {}}).get());
}

Heard Side::break_off(const Contender& one) {
    const auto found = line(one.resource);
    if (!found) return {"gone "};
    for (const auto* places : {&found->holders, &found->waiters}) {
        const auto place =
            std::ranges::find(*places, one.nonce, [](const Place& it) { return it.ticket.nonce; });
        if (place == places->end()) continue;
        return heard_of_leaving(one.nonce, store_->leave(place->ticket).get());
    }
    return {"gone "};
}

Heard Side::heard(const Nonce& nonce, const Result<Standing>& result) {
    if (!result.ok()) return {test::in_words(result.failure())};
    Heard heard;
    add(heard, nonce, result.value());
    return heard;
}

Heard Side::heard_of_leaving(const Nonce& nonce, const Result<Standing>& result) {
    watches_.erase(nonce);
    Heard told = heard(nonce, result);
    // Who waits in its own process alone was nowhere.
    if (!rules_.in_line && told.words == "waiting ") told.words = "gone ";
    // Not each store says which fence it had.
    std::erase_if(told.standings, [](const auto& one) {
        return one.second.state == State::admitted && one.second.fence == 0;
    });
    return told;
}

Heard Side::lines(const std::string& prefix) {
    const auto result = store_->inspect(prefix).get();
    if (!result.ok()) return {test::in_words(result.failure())};
    Heard heard;
    for (const Line& line : result.value()) {
        heard.words += in_words(line);
        for (const Place& place : line.holders) {
            if (place.fence == 0) continue;
            heard.standings[place.ticket.nonce] = {State::admitted, place.fence};
        }
    }
    return heard;
}

std::optional<Line> Side::line(const std::string& resource) {
    const auto lines = store_->look_at(resource).get();
    if (!lines.ok()) return std::nullopt;
    const auto found = std::ranges::find(lines.value(), resource, &Line::resource);
    return found == lines.value().end() ? std::nullopt : std::optional(*found);
}

std::string Side::in_words(const Line& line) const {
    std::set<std::string> holders;
    for (const Place& place : line.holders) holders.insert(in_words(place));
    if (holders.empty() && !rules_.in_line) return {};
    std::string words = "[" + line.resource + ": ";
    for (const auto& holder : holders) words += holder + ", ";
    words += "before ";
    for (const Place& place : line.waiters) {
        if (rules_.in_line) words += in_words(place) + ", ";
    }
    return words + "] ";
}

std::string Side::in_words(const Place& place) const {
    std::string words = place.owner;
    if (rules_.in_line) words += "*" + std::to_string(place.weight);
    // Some count milliseconds from a whole one on.
    const auto tenths = std::chrono::round<std::chrono::duration<int, std::deci>>(place.lease_left);
    if (rules_.apart) words += " for " + std::to_string(tenths.count()) + "00 ms";
    return words;
}

Ticket Side::ticket_of(const Contender& one) const {
    const auto found = tickets_.find(one.nonce);
    return found == tickets_.end() ? Ticket{one.resource, one.nonce, {}} : found->second;
}

}  // namespace holdfast::test
