#include <algorithm>

#include "play/play.hpp"

/// What a play finds right: the answers, one by one, and how it ends.
namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using State = Standing::State;

std::string in_words(const Contender& one) {
    const auto amount = [](std::uint64_t weight) {
        return weight == all ? "all" : std::to_string(weight);
    };
    return one.owner + " for " + amount(one.weight) + " of " + amount(one.capacity) +
           (one.fairness == Fairness::fifo ? " in turn" : " barging") +
           (one.patience == Patience::none ? " at once" : "") + (one.reenter ? " again" : "") +
           ", " + std::to_string(one.lease.count()) + " ms";
}

}  // namespace

// Hands ---------------------------------------------------------------------------------------

void Play::damage() {
    model_.reset();
    const std::string resource = folder_ + "/" + std::to_string(random_.below(2));
    story_ += "  something of " + resource + " is deleted\n";
    site_.damage(resource, random_);
    // Who forgot the last fence goes by the clock, which goes on.
    site_.clock().advance(10ms);
}

/// Everybody goes on until its turn, and leaves then.
void Play::drain() {
    constexpr int most_rounds = 150;
    const auto waits = [](const Known& known) { return known.state != State::gone; };
    for (int round = 0; difference_.empty() && std::ranges::any_of(known_, waits); ++round) {
        if (round == most_rounds) return fail("they wait for ever");
        // A holder that was deleted is missed when its lease would have ended.
        if (damaged()) site_.clock().advance(rules_.in_line ? 10s : milliseconds(1h));
        for (std::size_t i = 0; i < known_.size(); ++i) {
            const Contender one = known_[i].contender;
            if (!waits(known_[i])) continue;
            const Extension extension(rules_.in_line ? 60s : milliseconds(lasting),
                                      Moment{microseconds{++serial_}});
            ask("last renew", {one}, [&](Side& side) { return side.renew({one}, extension); });
            if (known_[i].state == State::admitted) leave(known_[i]);
        }
    }
    if (damaged()) site_.clock().advance(lasting + 1h);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
        probe(i);
        if (difference_.empty() && story_.find("admitted", story_.rfind("enter")) == story_.npos) {
            fail("nobody is there, and it is not let in");
        }
    }
    const Heard left = ask("last lines", {}, [&](Side& side) { return side.lines(folder_); });
    if (!left.words.empty()) fail("somebody is left");
}

void Play::check_books() {
    const std::string resource = folder_ + "/" + std::to_string(random_.below(2));
    const std::string wrong = site_.wrong_in_books(resource);
    if (!wrong.empty()) fail(resource + ": " + wrong);
}

// What is answered ----------------------------------------------------------------------------

Heard Play::ask(const std::string& what, const std::vector<Contender>& who, const Verb& verb) {
    if (!difference_.empty()) return {};
    story_ += what;
    for (const Contender& one : who) {
        story_ += " " + std::to_string(places_[one.nonce]) + " (" + in_words(one) + " at " +
                  one.resource + ")";
    }
    tested_.take_told();
    // Nobody is told twice in a microsecond.
    const bool tells = rules_.in_line && (what.starts_with("leave") || what == "break");
    site_.clock().advance(tells ? std::max<microseconds>(rules_.pace, 1us) : rules_.pace);
    const Heard expected = model_ ? verb(*model_) : Heard{};
    const Heard found = verb(tested_);
    story_ += ": " + found.words + "\n";
    if (model_) {
        compare(expected, found);
        // Of a request that came to nothing nothing is left, perhaps not even what it looked at.
        const bool nothing = found.words.ends_with("gone ") || found.words.starts_with("failed");
        if (!nothing) expect_told(what, who);
        model_->take_told();
    }
    for (const auto& [nonce, standing] : found.standings) {
        const auto known = places_.find(nonce);
        if (known == places_.end()) continue;
        known_[known->second].state = standing.state;
    }
    if (damaged()) check_fences(found);
    return found;
}

void Play::compare(const Heard& expected, const Heard& found) {
    if (expected.words != found.words) fail("expected " + expected.words);
    for (const auto& [nonce, standing] : expected.standings) {
        if (standing.state != State::admitted || !found.standings.contains(nonce)) continue;
        const Contender& one = known_[places_[nonce]].contender;
        const std::uint64_t given = found.standings.at(nonce).fence;
        const std::string wrong = fences_.check(one.resource, standing.fence, given);
        if (!wrong.empty()) fail(wrong);
        fences_.remember(one, given);
    }
}

/// Who asks learns it from the answer.
void Play::expect_told(const std::string& what, const std::vector<Contender>& askers) {
    for (const Nonce& nonce : model_->take_told()) {
        if (what == "enter" && !rules_.tells_of_ends) continue;
        const bool asks = std::ranges::find(askers, nonce, &Contender::nonce) != askers.end();
        if (asks || tested_.await_told(nonce)) continue;
        fail(std::to_string(places_[nonce]) + " was not told that it is its turn");
    }
}

namespace {

bool is_admitted(const Heard& heard, const Nonce& nonce) {
    const auto found = heard.standings.find(nonce);
    return found != heard.standings.end() && found->second.state == Standing::State::admitted;
}

}  // namespace

void Play::check_fences(const Heard& heard) {
    for (const auto& [nonce, standing] : heard.standings) {
        const auto known = places_.find(nonce);
        if (standing.state != State::admitted || known == places_.end()) continue;
        // Beside a lock of others it may be forgotten, and says so: then the hold is lost.
        if (standing.fence == 0 && !rules_.in_line) continue;
        const std::string wrong = fences_.check(known_[known->second].contender, standing.fence);
        if (!wrong.empty()) fail(wrong);
    }
}

/// Who shares a hold has its fence.
void Play::check_shares() {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
        const std::string resource = folder_ + "/" + std::to_string(i);
        std::map<std::uint64_t, std::uint64_t> weights;
        std::uint64_t capacity = 0;
        for (const auto& [nonce, standing] : tested_.lines(resource).standings) {
            const Contender& one = known_[places_.at(nonce)].contender;
            // One whose hold went with the row of another learns of it when it asks.
            if (!is_admitted(tested_.standing(one), nonce)) continue;
            capacity = std::max(capacity, one.capacity);
            auto& weight = weights[standing.fence];
            weight = std::max(weight, one.weight);
        }
        std::uint64_t held = 0;
        for (const auto& [fence, weight] : weights) held += weight;
        if (held > capacity) fail(resource + " is held " + std::to_string(held));
    }
}

void Play::fail(const std::string& difference) {
    if (difference_.empty()) difference_ = difference;
}

}  // namespace holdfast::test
