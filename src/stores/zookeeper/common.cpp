#include "stores/zookeeper/common.hpp"

#include <algorithm>

#include "stores/zookeeper/ending.hpp"
#include "stores/zookeeper/note.hpp"
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
/// Beyond that nodes stay until their session ends.
constexpr std::size_t most_leftovers = 65536;

std::vector<std::string> with_path(const std::string& path, const std::vector<std::string>& nodes) {
    std::vector<std::string> paths;
    paths.reserve(nodes.size());
    for (const std::string& node : nodes) paths.push_back(below(path, node));
    return paths;
}

std::string in_words(std::uint64_t capacity) {
    return capacity == all ? "exclusive and shared use" : std::to_string(capacity) + " permits";
}

}  // namespace

Failure conflict(const Ensemble& ensemble, std::uint64_t capacity_ahead) {
    return {errc::conflict, Effect::none,
            ensemble.shown() + ": the resource is in use for " + in_words(capacity_ahead) +
                "; all its users must agree"};
}

Failure fairness_conflict(const Ensemble& ensemble) {
    return {errc::conflict, Effect::none,
            ensemble.shown() +
                ": the resource is used with another fairness, or has others below its name; all "
                "its users must agree, and barging allows no names below it"};
}

void Common::tidy() {
    const Moment now = BootClock::now();
    for (const Member& member : roster.take_lapsed(now)) {
        take_back(member);
        watchers->call(member.nonce(), {.state = State::gone});
    }
    remove_leftovers(now);
    std::vector<std::pair<Nonce, std::string>> due;
    {
        const std::lock_guard guard(mutex_);
        for (auto& [nonce, one] : doubts_) {
            if (now < one.next) continue;
            one.next = now + doubt_interval;
            due.emplace_back(nonce, one.path);
        }
        std::erase_if(doubts_, [&](const auto& one) {
            if (now < one.second.until) return false;
            // One that waits with barging may have got it without hearing of it, for good.
            const auto member = roster.find(one.first);
            return !member || !member->node.empty();
        });
    }
    for (const auto& [nonce, path] : due) look_for_copies(nonce, path);
}

void Common::remove_node(const std::string& node) {
    keep_leftover(node, {.session = wire.session(), .under_way = true});
    send_removal(node, 0);
}

/// With barging the node has the resource's name, and may be another one's by now; one of an
/// earlier session has gone with it.
void Common::take_back(const Member& member) {
    if (member.node.empty()) {
        // It may have got it all the same.
        if (is_doubted(member.nonce())) roster.bury(member.nonce(), BootClock::now());
        return;
    }
    if (!member.is_barging()) return remove_node(member.node);
    if (member.session != wire.session()) return;
    const auto czxid = static_cast<std::int64_t>(member.fence);
    keep_leftover(member.node, {.session = member.session, .czxid = czxid, .under_way = true});
    send_removal(member.node, czxid);
}

void Common::remove_later(const PlaceText& place) {
    // Others' nodes are theirs to end, and those of an earlier session have gone with it.
    if (place.session == 0 || place.session != wire.session()) return;
    const bool in_line = seat_of(last_of(place.node)).has_value();
    keep_leftover(place.node, {.session = place.session, .czxid = in_line ? 0 : place.czxid});
}

void Common::keep_leftover(const std::string& node, const Leftover& leftover) {
    const std::lock_guard guard(mutex_);
    if (leftovers_.size() >= most_leftovers) return;
    leftovers_.insert_or_assign(node, leftover);
}

void Common::remove_leftovers(Moment now) {
    std::vector<std::pair<std::string, std::int64_t>> due;
    {
        const std::lock_guard guard(mutex_);
        if (leftovers_.empty()) return;
        const std::int64_t session = wire.session();
        std::erase_if(leftovers_, [&](const auto& one) { return one.second.session != session; });
        for (auto& [node, one] : leftovers_) {
            if (one.under_way || now < one.next) continue;
            one.under_way = true;
            due.emplace_back(node, one.czxid);
        }
    }
    for (const auto& [node, czxid] : due) send_removal(node, czxid);
}

void Common::send_removal(const std::string& node, std::int64_t czxid) {
    if (czxid != 0) {
        const auto ended = [node, czxid](Common& alive, const Result<Standing>& result) {
            alive.removal_answered(node, czxid, result.ok());
        };
        std::make_shared<Ending>(*this, PlaceText{0, czxid, node}, ended)->start(*this);
        return;
    }
    submit({.operations = {delete_node(node)}}, [node](Common& alive, const Answer& answer) {
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

void Common::doubt(const std::string& path, const Nonce& nonce) {
    const Moment now = BootClock::now();
    const std::lock_guard guard(mutex_);
    doubts_[nonce] = {path, now + doubt_interval, now + wire.session_timeout()};
}

bool Common::is_doubted(const Nonce& nonce) const {
    const std::lock_guard guard(mutex_);
    return doubts_.contains(nonce);
}

void Common::look_for_copies(const Nonce& nonce, const std::string& path) {
    submit({.operations = {catch_up(), list_children(path), read_node(path)}},
           [nonce, path](Common& self, const Answer& answer) {
               if (!answer.result.ok()) return;
               const Reply& listed = answer.result.value()[1];
               const Reply& read = answer.result.value()[2];
               if (listed.ok()) self.remove_copies(nonce, path, listed.children());
               if (read.ok()) self.remove_barging_copy(nonce, path, read.content());
           });
}

void Common::remove_copies(const Nonce& nonce, const std::string& path,
                           const std::vector<std::string>& children) {
    const auto member = roster.find(nonce);
    for (const std::string& child : children) {
        const std::string node = below(path, child);
        const bool copy = child.starts_with(name_start(nonce));
        if (copy && (!member || member->node != node)) remove_node(node);
    }
}

/// One that has not left for good finds it, and takes it for its own.
void Common::remove_barging_copy(const Nonce& nonce, const std::string& path,
                                 const Reply::Content& content) {
    const auto note = note_in(content.data);
    if (!note || note->nonce != nonce || !roster.is_buried(nonce)) return;
    keep_leftover(
        path,
        {.session = content.stat.ephemeral_owner, .czxid = content.stat.czxid, .under_way = true});
    send_removal(path, content.stat.czxid);
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
        case Verdict::waits:
            roster.wait_for(member.nonce(), with_path(member.path, judgement.watched),
                            judgement.next, listed.zxid);
            arm(member.nonce());
            return {.state = State::waiting};
        case Verdict::conflict:
            remove_node(member.node);
            break;
        case Verdict::absent:
            break;
    }
    roster.remove(member.nonce());
    return {};
}

Standing Common::its_turn(const Member& member) {
    if (!member.admitted) tell_those_behind(member);
    roster.admit(member.nonce());
    return {.state = State::admitted, .fence = member.fence};
}

void Common::tell_those_behind(const Member& member) {
    if (member.contender.capacity == all) return;
    wire.submit({.operations = {write_node(member.node, note_of(member.contender))}},
                [](const Answer&) {});
}

void Common::arm(const Nonce& nonce) {
    if (!watchers->watches(nonce)) return;
    const auto member = roster.find(nonce);
    if (!member) return;
    for (const std::string& node : member->watched) wire.watch(node, member->listed_at);
}

void Common::session_over(std::int64_t session) {
    for (const Member& member : roster.take_of_session(session)) {
        // Should it still be there, it belongs to nobody; but with barging another one may have the
        // name by now.
        if (!member.is_barging()) remove_node(member.node);
        watchers->call(member.nonce(), {.state = State::gone});
    }
    // Those without a node go on, but what they watched is not watched any more.
    for (const Nonce& nonce : watchers->watched()) {
        watchers->call(nonce, {.state = State::waiting});
    }
}

void Common::stirred(const std::string& path, Event::What what) {
    for (const Nonce& nonce : roster.stir(path, what == Event::What::deleted)) {
        if (!watchers->watches(nonce)) continue;
        if (roster.take_stir(nonce)) watchers->call(nonce, {.state = State::waiting});
    }
}

}  // namespace holdfast::inline v0::zookeeper
