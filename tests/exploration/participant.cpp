#include "exploration/participant.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::exploration {

using redlock::Decision;
using redlock::Vote;
using Kind = Request::Kind;

std::vector<Letter> Participant::enter(const Request& request, Moment now) {
    request_ = request;
    sent_ = now;
    serial_ = 0;
    ballot_.emplace(terms_, request.lease, now);
    if (fault_ == Fault::leaves_where_it_knows) answered_.assign(terms_.nodes, false);
    return to_all(request);
}

std::vector<Letter> Participant::take(const Letter& letter, const Vote& vote, Moment now) {
    if (!expects_answer_to(letter.request)) return {};
    if (!answered_.empty()) answered_[letter.node] = true;
    if (letter.request.kind == Kind::enter) {
        ballot_->entered(letter.node, vote);
    } else if (is_entering()) {
        ballot_->wrote_back(letter.node, vote);
    } else {
        renewal_->take(letter.node, vote);
    }
    const bool is_admitted = vote.kind == Vote::Kind::admitted;
    if (is_entering()) {
        if (!is_admitted || fault_ != Fault::enters_by_minority) return settle(now);
        admitted(vote.fence, now);
        return {};
    }
    if (is_admitted && fault_ == Fault::keeps_by_minority) count_from(sent_);
    return settle_renewal(now);
}

std::vector<Letter> Participant::give_up(Moment now) {
    if (is_entering()) {
        ballot_->give_up();
        return settle(now);
    }
    renewal_->give_up();
    return settle_renewal(now);
}

std::vector<Letter> Participant::settle(Moment now) {
    const Decision decision = ballot_->decision(now);
    const bool admits = decision == Decision::admitted ||
                        (fault_ == Fault::writes_nothing_back && ballot_->fence() != 0);
    if (admits) {
        admitted(ballot_->fence(), now);
        return {};
    }
    if (decision != Decision::open) return refused(decision);
    std::vector<Letter> letters;
    Request raise = request_;
    raise.kind = Kind::renew;
    raise.fence = ballot_->fence();
    for (const std::size_t node : ballot_->write_backs()) letters.push_back({node, raise});
    return letters;
}

std::vector<Letter> Participant::refused(Decision decision) {
    ended_as_ = decision;
    until_free_ = ballot_->until_free();
    return leave();
}

void Participant::admitted(std::uint64_t fence, Moment now) {
    ballot_.reset();
    fence_ = fence;
    valid_until_ = Moment{};
    count_from(fault_ == Fault::counts_from_the_answer ? now : sent_);
}

void Participant::count_from(Moment sent) {
    valid_until_ =
        std::max(valid_until_, redlock::counted_from(sent, request_.lease) + request_.lease);
}

std::vector<Letter> Participant::renew(Moment now) {
    sent_ = now;
    renewal_.emplace(terms_);
    Request request = request_;
    request.kind = Kind::renew;
    request.fence = fence_;
    request.serial = ++serial_;
    return to_all(request);
}

/// What was lost stays lost.
std::vector<Letter> Participant::settle_renewal(Moment now) {
    const Decision decision = renewal_->decision();
    if (decision == Decision::open) return {};
    if (decision == Decision::admitted && holds(now)) count_from(sent_);
    const auto letters =
        decision == Decision::admitted ? enter_where_it_is_missed() : std::vector<Letter>{};
    renewal_.reset();
    return letters;
}

/// A majority has it.
std::vector<Letter> Participant::enter_where_it_is_missed() const {
    std::vector<Letter> letters;
    Request again = request_;
    again.fence = fence_;
    for (std::size_t i = 0; i < terms_.nodes; ++i) {
        if (renewal_->votes()[i].kind == Vote::Kind::gone) letters.push_back({i, again});
    }
    return letters;
}

/// Everywhere: also where no answer came from, and where one that it was refused.
std::vector<Letter> Participant::leave() {
    ballot_.reset();
    renewal_.reset();
    fence_ = 0;
    Request request = request_;
    request.kind = Kind::leave;
    auto letters = to_all(request);
    if (!answered_.empty()) {
        std::erase_if(letters, [this](const Letter& one) { return !answered_[one.node]; });
    }
    return letters;
}

bool Participant::answers_for(const Nonce& nonce) const noexcept {
    return nonce == request_.nonce && (is_entering() || is_in());
}

bool Participant::expects_answer_to(const Request& request) const noexcept {
    if (request.nonce != request_.nonce || request.kind == Kind::leave) return false;
    const bool is_first = request.kind == Kind::enter || request.serial == 0;
    return is_first ? is_entering() : is_renewing() && request.serial == serial_;
}

Participant::View Participant::view_of(std::size_t node) const {
    View view;
    if (ballot_) view.entering = ballot_->nodes()[node];
    if (renewal_) view.renewing = renewal_->votes()[node];
    view.has_answered = !answered_.empty() && answered_[node];
    return view;
}

Participant Participant::without_views() const {
    Participant rest = *this;
    rest.answered_.clear();
    if (renewal_) rest.renewal_.emplace(terms_);
    if (!ballot_) return rest;
    rest.ballot_.emplace(terms_, request_.lease, sent_);
    // Where the clients have agreed on a fence, it is among what is left.
    rest.fence_ = ballot_->fence();
    return rest;
}

std::vector<Letter> Participant::to_all(const Request& request) const {
    std::vector<Letter> letters;
    for (std::size_t i = 0; i < terms_.nodes; ++i) letters.push_back({i, request});
    return letters;
}

}  // namespace holdfast::exploration
