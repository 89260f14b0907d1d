#include "stores/memcached/applicants.hpp"

#include <algorithm>
#include <utility>

#include "stores/net/backoff.hpp"

namespace holdfast::inline v0::memcached {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_pause = 25ms;
/// Four looks in a second, and a hand-off within an eighth of one, mostly.
constexpr std::chrono::nanoseconds longest_pause = 250ms;

/// By a quarter, so that those who wait do not all come at once.
std::chrono::nanoseconds jittered(std::chrono::nanoseconds pause) {
    return pause - pause / 4 + net::random_time(pause / 2);
}

}  // namespace

void Applicants::enter(const std::shared_ptr<const Identity>& who,
                       std::chrono::milliseconds lease) {
    const Lock lock(mutex_);
    const auto [found, fresh] = applicants_.try_emplace(who->nonce);
    if (!fresh) return;
    found->second.who = who;
    found->second.lease = lease;
}

std::optional<Applicant> Applicants::find(const Nonce& nonce) const {
    const Lock lock(mutex_);
    const auto found = applicants_.find(nonce);
    if (found == applicants_.end()) return std::nullopt;
    return found->second;
}

std::optional<Applicant> Applicants::forget(const Nonce& nonce) {
    const Lock lock(mutex_);
    auto node = applicants_.extract(nonce);
    if (node.empty()) return std::nullopt;
    stop_waiting(node.mapped());
    return std::move(node.mapped());
}

void Applicants::wait(Applicant& applicant) {
    if (applicant.order != 0) return;
    applicant.order = ++last_order_;
    waiting_[applicant.who->resource].emplace(applicant.order, applicant.who->nonce);
}

void Applicants::stop_waiting(Applicant& applicant) {
    if (applicant.order == 0) return;
    const auto line = waiting_.find(applicant.who->resource);
    line->second.erase(std::exchange(applicant.order, 0));
    if (line->second.empty()) waiting_.erase(line);
}

template <class Change>
void Applicants::change(const Nonce& nonce, Change how) {
    const Lock lock(mutex_);
    const auto found = applicants_.find(nonce);
    if (found != applicants_.end()) how(found->second);
}

Applicants::Adding Applicants::adding(const Nonce& nonce) {
    Adding adding = Adding::left;
    change(nonce, [&](Applicant& one) {
        adding = one.version ? Adding::holds : Adding::begun;
        if (one.version) return;
        ++one.adds;
        one.finds_it_free = false;
    });
    return adding;
}

bool Applicants::added(const Nonce& nonce, Applicant::Copies copies) {
    bool is_only_one = true;
    change(nonce, [&](Applicant& one) {
        --one.adds;
        one.in_doubt = one.in_doubt || copies == Applicant::Copies::left;
        is_only_one = !one.version && !one.may_come_late();
    });
    return is_only_one;
}

void Applicants::holds(const Nonce& nonce, const Version& version) {
    change(nonce, [&](Applicant& one) {
        one.version = version;
        stop_waiting(one);
    });
}

std::optional<Version> Applicants::version_of(const Nonce& nonce) const {
    const Lock lock(mutex_);
    const auto found = applicants_.find(nonce);
    return found == applicants_.end() ? std::nullopt : found->second.version;
}

void Applicants::looked(const Nonce& nonce, Moment sent, Applicant::Found found) {
    change(nonce, [&](Applicant& one) {
        one.heard = std::max(one.heard, sent);
        one.finds_it_free = found == Applicant::Found::free;
        if (!one.finds_it_free && !one.version) wait(one);
    });
}

std::chrono::nanoseconds Applicants::next_look(const Nonce& nonce) {
    constexpr int most_doublings = 8;
    int looks = 0;
    change(nonce, [&](Applicant& one) { looks = std::min(one.looks++, most_doublings); });
    return jittered(std::min(first_pause * (1 << looks), longest_pause));
}

bool Applicants::begins_vigil(const Nonce& nonce) {
    const Lock lock(mutex_);
    return vigils_.insert(nonce).second;
}

void Applicants::vigil_is_over(const Nonce& nonce) {
    const Lock lock(mutex_);
    vigils_.erase(nonce);
}

/// What was told before it is told now.
std::unique_ptr<Watch> Applicants::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = watchers_->add(ticket.nonce, std::move(line_moved));
    const auto applicant = find(ticket.nonce);
    if (applicant && applicant->finds_it_free) {
        watchers_->call(ticket.nonce, {.state = Standing::State::offered});
    }
    return watch;
}

void Applicants::given_back(const std::string& resource) {
    if (const auto next = next_of(resource)) {
        watchers_->call(*next, {.state = Standing::State::offered});
    }
}

std::optional<Nonce> Applicants::next_of(const std::string& resource) {
    const Lock lock(mutex_);
    const auto line = waiting_.find(resource);
    if (line == waiting_.end()) return std::nullopt;
    const Nonce next = line->second.begin()->second;
    applicants_.at(next).finds_it_free = true;
    return next;
}

}  // namespace holdfast::inline v0::memcached
