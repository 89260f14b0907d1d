#include "stores/zookeeper/common.hpp"

#include <algorithm>

#include "stores/listed/note.hpp"
#include "stores/zookeeper/ending.hpp"
#include "stores/zookeeper/seat.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;
using Verdict = Judgement::Verdict;

/// What is remembered of lines is a hint: when it is too much, it is forgotten.
constexpr std::size_t most_remembered = 4096;
/// How often a late copy of an enter is looked for, and a deletion made again.
constexpr auto doubt_interval = 500ms;
/// How often a node is looked for that we may not read.
constexpr auto unheard_interval = 1s;
/// Beyond that nodes stay until their session ends.
constexpr std::size_t most_leftovers = 65536;

}  // namespace

std::vector<std::string> nodes_to_watch(const std::string& path, const std::string& own,
                                        const Judgement& judgement) {
    std::vector<std::string> nodes{own};
    for (const std::string& node : judgement.watched) nodes.push_back(below(path, node));
    return nodes;
}

void Common::tidy() {
    const Moment now = BootClock::now();
    for (const Member& member : roster.take_lapsed(now)) {
        take_back(member);
        watchers->call(member.nonce(), {.state = State::gone});
    }
    remove_leftovers(now);
    std::vector<std::pair<Nonce, Doubt>> due;
    {
        const std::lock_guard guard(mutex_);
        for (auto& [nonce, one] : doubts_) {
            if (now < one.next) continue;
            one.next = now + doubt_interval;
            due.emplace_back(nonce, one);
        }
        std::erase_if(doubts_, [&](const auto& one) {
            if (now < one.second.until) return false;
            // One that waits with barging may have got it without hearing of it, for good.
            const auto member = roster.find(one.first);
            return !member || !member->node.empty();
        });
    }
    for (const auto& [nonce, one] : due) look_for_copies(nonce, one);
}

void Common::remove_node(Term term, const std::string& node) {
    const Leftover leftover{.term = term, .session = wire.session(term), .under_way = true};
    keep_leftover(node, leftover);
    send_removal(node, leftover);
}

/// With barging the node has the resource's name, and may be another one's by now; one of an
/// earlier session has gone with it.
void Common::take_back(const Member& member) {
    if (member.node.empty()) {
        // It may have got it all the same.
        if (is_doubted(member.nonce())) roster.bury(member.nonce(), BootClock::now());
        return;
    }
    const Term term = term_of(member);
    if (!member.is_barging()) return remove_node(term, member.node);
    // One that was detached has its node still.
    if (member.session != 0 && !is_of_present_session(member)) return;
    const Leftover leftover{.term = term,
                            .session = wire.session(term),
                            .czxid = static_cast<std::int64_t>(member.fence),
                            .under_way = true};
    keep_leftover(member.node, leftover);
    send_removal(member.node, leftover);
}

void Common::remove_later(const PlaceText& place) {
    // Others' nodes are theirs to end, and those of an earlier session have gone with it.
    const auto term = wire.term_of(place.session);
    if (!term) return;
    const bool in_line = seat_of(last_of(place.node)).has_value();
    keep_leftover(place.node,
                  {.term = *term, .session = place.session, .czxid = in_line ? 0 : place.made_by});
}

void Common::keep_leftover(const std::string& node, const Leftover& leftover) {
    const std::lock_guard guard(mutex_);
    if (leftovers_.size() >= most_leftovers) return;
    leftovers_.insert_or_assign(node, leftover);
}

void Common::remove_leftovers(Moment now) {
    std::vector<std::pair<std::string, Leftover>> due;
    {
        const std::lock_guard guard(mutex_);
        if (leftovers_.empty()) return;
        std::erase_if(leftovers_, [&](const auto& one) {
            return one.second.session != wire.session(one.second.term);
        });
        for (auto& [node, one] : leftovers_) {
            if (one.under_way || now < one.next) continue;
            one.under_way = true;
            due.emplace_back(node, one);
        }
    }
    for (const auto& [node, one] : due) send_removal(node, one);
}

void Common::send_removal(const std::string& node, const Leftover& leftover) {
    if (const auto czxid = leftover.czxid; czxid != 0) {
        const auto ended = [node, czxid](Common& alive, const Result<Standing>& result) {
            alive.removal_answered(node, czxid, result.ok());
        };
        std::make_shared<Ending>(*this, leftover.term, PlaceText{0, czxid, node}, ended)
            ->start(*this);
        return;
    }
    submit(leftover.term, {.operations = {delete_node(node)}},
           [node](Common& alive, const Answer& answer) {
               alive.removal_answered(node, 0, answer.result.ok());
           });
}

void Common::removal_answered(const std::string& node, std::int64_t czxid, bool done) {
    const std::lock_guard guard(mutex_);
    const auto found = leftovers_.find(node);
    if (found == leftovers_.end() || found->second.czxid != czxid) return;
    if (done) {
        leftovers_.erase(found);
        return;
    }
    found->second.under_way = false;
    found->second.next = BootClock::now() + doubt_interval;
}

void Common::doubt(Term term, const std::string& path, const Nonce& nonce) {
    const Moment now = BootClock::now();
    const auto session = std::max(term, wire.session_timeout(term));
    const std::lock_guard guard(mutex_);
    doubts_[nonce] = {term, path, now + doubt_interval, now + session};
}

std::optional<Term> Common::doubted_in(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    const auto found = doubts_.find(nonce);
    if (found == doubts_.end()) return std::nullopt;
    return found->second.term;
}

bool Common::is_doubted(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return doubts_.contains(nonce);
}

void Common::look_for_copies(const Nonce& nonce, const Doubt& doubt) {
    submit(doubt.term,
           {.operations = {catch_up(), list_children(doubt.path), read_node(doubt.path)}},
           [nonce, doubt](Common& self, const Answer& answer) {
               if (!answer.result.ok()) return;
               const Reply& listed = answer.result.value()[1];
               const Reply& read = answer.result.value()[2];
               if (listed.ok()) self.remove_copies(nonce, doubt, listed.children());
               if (read.ok()) self.remove_barging_copy(nonce, doubt, read.content());
           });
}

void Common::remove_copies(const Nonce& nonce, const Doubt& doubt,
                           const std::vector<std::string>& children) {
    const auto member = roster.find(nonce);
    for (const std::string& child : children) {
        const std::string node = below(doubt.path, child);
        const bool copy = child.starts_with(name_start(nonce));
        if (copy && (!member || member->node != node)) remove_node(doubt.term, node);
    }
}

/// One that has not left for good finds it, and takes it for its own.
void Common::remove_barging_copy(const Nonce& nonce, const Doubt& doubt,
                                 const Reply::Content& content) {
    const auto note = note_in(content.data);
    if (!note || note->nonce != nonce || !roster.is_buried(nonce)) return;
    const Leftover leftover{.term = doubt.term,
                            .session = content.stat.ephemeral_owner,
                            .czxid = content.stat.czxid,
                            .under_way = true};
    keep_leftover(doubt.path, leftover);
    send_removal(doubt.path, leftover);
}

bool Common::was_occupied(const std::string& path) const {
    const std::lock_guard guard(mutex_);
    return occupied_.contains(path);
}

void Common::saw(const std::string& path, bool occupied) {
    const std::lock_guard guard(mutex_);
    if (!occupied) {
        occupied_.erase(path);
        return;
    }
    if (occupied_.size() >= most_remembered) occupied_.clear();
    occupied_.insert(path);
}

Standing Common::stands(const Member& member, const Reply& reply) {
    if (member.its_turn) return its_turn(member);
    if (!member.is_barging()) return stands_in_line(member, reply);
    const bool same = reply.ok() && static_cast<std::uint64_t>(reply.stat().czxid) == member.fence;
    if (same) return {.state = State::admitted, .fence = member.fence};
    roster.remove(member.nonce());
    return {};
}

Standing Common::stands_in_line(const Member& member, const Reply& listed) {
    const auto children = listed.ok() ? listed.children() : std::vector<std::string>{};
    const auto judgement = judge(seats_in_order(children), last_of(member.node));
    switch (judgement.verdict) {
        case Verdict::admitted:
            return its_turn(member);
        case Verdict::conflict:
            leave_behind(member, judgement.barred_by);
            [[fallthrough]];
        case Verdict::waits:
            roster.wait_for(member.nonce(), nodes_to_watch(member.path, member.node, judgement),
                            judgement.next, listed.zxid);
            arm(member.nonce());
            return waits(nodes_to_watch(member.path, member.node, judgement));
        case Verdict::absent:
            break;
    }
    roster.remove(member.nonce());
    return {};
}

/// It was told to wait, and disagrees with whoever is the first by now. While that one is there it
/// leaves, and is told so; when it comes again, it is refused. Else it waits, and looks again.
void Common::leave_behind(const Member& member, const Seat& other) {
    submit(term_of(member),
           {.operations = {delete_behind(member.node, below(member.path, other.node))}},
           [member](Common& alive, const Answer& answer) {
               if (!answer.result.ok()) return;
               if (answer.result.value().front().refused() != Refusal::none) return;
               if (!alive.roster.remove(member)) return;
               alive.watchers->call(member.nonce(), {.state = State::gone});
           });
}

/// For one that may not hear of what it waits for, looking is all there is.
Standing Common::waits(const std::vector<std::string>& watched) const {
    const std::lock_guard guard(mutex_);
    const bool deaf = std::ranges::any_of(
        watched, [&](const std::string& node) { return unheard_.contains(node); });
    if (!deaf) return {.state = State::waiting};
    return {.state = State::waiting, .look_again = unheard_interval};
}

Standing Common::its_turn(const Member& member) {
    if (!roster.admit(member)) return {};
    if (!member.admitted) tell_those_behind(member);
    return {.state = State::admitted, .fence = member.fence};
}

void Common::tell_those_behind(const Member& member) {
    if (member.contender.capacity == all) return;
    wire.submit(term_of(member),
                {.operations = {write_node(member.node, note_of(member.contender))}},
                [](const Answer&) {});
}

void Common::withdraw(const Member& member) {
    roster.remove(member);
    take_back(member);
}

void Common::arm(const Nonce& nonce) {
    if (!watchers->watches(nonce)) return;
    const auto member = roster.find(nonce);
    if (!member) return;
    wire.watch(term_of(*member), member->watched, member->listed_at);
}

void Common::session_over(std::int64_t session) {
    for (const Member& member : roster.take_of_session(session)) {
        // Should it still be there, it belongs to nobody; but with barging another one may have the
        // name by now.
        if (!member.is_barging()) remove_node(term_of(member), member.node);
        watchers->call(member.nonce(), {.state = State::gone});
    }
    // Those without a node go on, but what they watched is not watched any more.
    for (const Nonce& nonce : watchers->watched()) {
        watchers->call(nonce, {.state = State::waiting});
    }
}

/// Those with a longer lease belong to no session any more: that tells holders with their next
/// renewal, whatever the servers do. What a holder has is not deleted before it was told.
void Common::session_shortened(std::int64_t session, std::chrono::milliseconds granted) {
    for (const Member& member : roster.take_longer(session, granted)) {
        take_back(member);
        watchers->call(member.nonce(), {.state = State::gone});
    }
}

void Common::unheard(std::int64_t session, const std::string& path) {
    {
        const std::lock_guard guard(mutex_);
        if (unheard_.size() >= most_remembered) unheard_.clear();
        unheard_.insert(path);
    }
    for (const Nonce& nonce : roster.stir(path, false, session)) {
        if (!watchers->watches(nonce)) continue;
        roster.take_stir(nonce);
        watchers->call(nonce, {.state = State::waiting, .look_again = unheard_interval});
    }
}

void Common::stirred(std::int64_t session, const std::string& path, Event::What what) {
    const bool ended = what == Event::What::deleted;
    for (const Nonce& nonce : roster.stir(path, ended, session)) {
        const auto member = roster.find(nonce);
        // Somebody has taken it out of line: whoever goes ahead of it is nothing to it any more.
        // With barging the name is no longer what ended, but perhaps what it has got since.
        const bool in_line = member && !member->is_barging();
        if (ended && in_line && member->node == path) {
            roster.remove(nonce);
            watchers->call(nonce, {.state = State::gone});
            continue;
        }
        if (!watchers->watches(nonce)) continue;
        if (roster.take_stir(nonce)) watchers->call(nonce, {.state = State::waiting});
    }
}

}  // namespace holdfast::inline v0::zookeeper
