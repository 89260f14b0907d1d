#include "stores/zookeeper/protocol.hpp"

#include <algorithm>

#include "stores/listed/note.hpp"
#include "stores/zookeeper/failures.hpp"
#include "stores/zookeeper/promises.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;

/// How often a node is looked for that we may not read.
constexpr auto unheard_interval = 1s;

}  // namespace

void Protocol::connect() {
    wire_.listen(weak_from_this());
    const auto flight = std::make_shared<Flight<bool>>(wire_);
    // An answer also to what was said of the user, which comes before it.
    submit(wire_.any_term(), {.operations = {catch_up()}},
           [flight](Protocol&, const Answer& answer) {
               if (!answer.result.ok()) return flight->complete(answer.result.failure());
               flight->complete(true);
           });
    const auto connected = Pending<bool>(flight).get();
    if (!connected.ok()) throw Error(connected.failure().code, connected.failure().sentence);
}

Capabilities Protocol::capabilities() const {
    Capabilities can = zookeeper::capabilities;
    can.longest_lease = wire_.longest_session();
    return can;
}

Pending<Standing> Protocol::look_at(const Entrant& entrant) {
    if (entrant.node.empty()) return take_if_free(entrant);
    // It is told by the session's end, which is about to be told itself.
    if (!is_of_present_session(entrant)) return Standing{};
    if (entrant.its_turn) return lines.admit(entrant);
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    Operation look =
        entrant.is_barging() ? look_at_node(entrant.node) : list_children(entrant.path);
    submit(term_of(entrant), {.operations = {std::move(look)}},
           [nonce = entrant.nonce(), flight](Protocol& alive, const Answer& answer) {
               if (!answer.result.ok()) return flight->complete(answer.result.failure());
               const Reply& reply = answer.result.value().front();
               if (tells_nothing(reply.refusal)) {
                   return flight->complete(failure_of(reply.refusal, alive.ensemble()));
               }
               const auto present = alive.lines.entrants.find(nonce);
               if (!present || present->session != answer.session) {
                   return flight->complete(Standing{});
               }
               flight->complete(alive.stands(*present, reply));
           });
    return Pending<Standing>(flight);
}

Standing Protocol::stands(const Entrant& entrant, const Reply& reply) {
    if (entrant.is_barging()) {
        const bool same =
            reply.ok() && static_cast<std::uint64_t>(reply.stat().czxid) == entrant.fence;
        if (same) return {.state = State::admitted, .fence = entrant.fence};
        lines.forget(entrant.nonce());
        return {};
    }
    Standing standing = lines.stands(entrant, line_by(reply, entrant.path), reply.zxid);
    if (standing.state == State::waiting && is_deaf(entrant.nonce())) {
        standing.look_again = unheard_interval;
    }
    return standing;
}

/// For one that may not hear of what it waits for, looking is all there is.
bool Protocol::is_deaf(const Nonce& nonce) const {
    const auto entrant = lines.entrants.find(nonce);
    return entrant && std::ranges::any_of(entrant->watched, [this](const std::string& node) {
               return unread.contains(node);
           });
}

void Protocol::watch(const Entrant& entrant) {
    wire_.watch(term_of(entrant), entrant.watched, entrant.listed_at);
}

void Protocol::tell_those_behind(const Entrant& entrant) {
    wire_.submit(term_of(entrant),
                 {.operations = {write_node(entrant.node, listed::note_of(entrant.contender))}},
                 [](const Answer&) {});
}

void Protocol::take_out_behind(const Entrant& entrant, const Neighbour& other,
                               Callback<void()> is_out) {
    const auto told = std::make_shared<Callback<void()>>(std::move(is_out));
    submit(term_of(entrant), {.operations = {delete_behind(entrant.node, other.node)}},
           [told](Protocol&, const Answer& answer) {
               if (!answer.result.ok()) return;
               if (answer.result.value().front().refused() == Refusal::none) (*told)();
           });
}

void Protocol::doubt(Term term, const std::string& path, const Nonce& nonce) {
    doubts.add(nonce, {term, path}, BootClock::now(), wire_.session_timeout(term));
}

void Protocol::tidy(Moment now) {
    // One that waits with barging may have got it without hearing of it, for good.
    const auto waits_with_barging = [this](const Nonce& nonce) {
        const auto entrant = lines.entrants.find(nonce);
        return entrant && entrant->node.empty();
    };
    for (const auto& [nonce, one] : doubts.take_due(now, waits_with_barging)) {
        look_for_copies(nonce, one);
    }
}

void Protocol::look_for_copies(const Nonce& nonce, const Doubts::Doubt& doubt) {
    submit(doubt.term,
           {.operations = {catch_up(), list_children(doubt.path), read_node(doubt.path)}},
           [nonce, doubt](Protocol& alive, const Answer& answer) {
               if (!answer.result.ok()) return;
               const Reply& listed = answer.result.value()[1];
               const Reply& read = answer.result.value()[2];
               if (listed.ok()) alive.remove_copies(nonce, doubt, listed.children());
               if (read.ok()) alive.remove_barging_copy(nonce, doubt, read.content());
           });
}

void Protocol::remove_copies(const Nonce& nonce, const Doubts::Doubt& doubt,
                             const std::vector<std::string>& children) {
    const auto entrant = lines.entrants.find(nonce);
    for (const std::string& child : children) {
        const std::string node = below(doubt.path, child);
        const bool copy = child.starts_with(name_start(nonce));
        if (copy && (!entrant || entrant->node != node)) remove_node(doubt.term, node);
    }
}

/// One that has not left for good finds it, and takes it for its own.
void Protocol::remove_barging_copy(const Nonce& nonce, const Doubts::Doubt& doubt,
                                   const Reply::Content& content) {
    const auto note = listed::note_in(content.data);
    if (!note || note->nonce != nonce || !doubts.is_buried(nonce)) return;
    const Stat& stat = content.stat;
    if (wire_.is_past(stat.ephemeral_owner)) return;
    lines.remove(
        {.incarnation = {stat.ephemeral_owner, stat.czxid, doubt.path}, .term = doubt.term});
}

void Protocol::remove_node(Term term, const std::string& node) {
    lines.remove({.incarnation = {wire_.session(term), 0, node}, .term = term});
}

/// With barging the node has the resource's name, and may be another one's by now; one of an
/// earlier session has gone with it.
void Protocol::take_back(const Entrant& entrant) {
    if (entrant.node.empty()) {
        // It may have got it all the same.
        if (doubts.contains(entrant.nonce())) doubts.bury(entrant.nonce(), BootClock::now());
        return;
    }
    const Term term = term_of(entrant);
    if (!entrant.is_barging()) return remove_node(term, entrant.node);
    // One that was detached has its node still.
    if (entrant.session != 0 && !is_of_present_session(entrant)) return;
    const auto czxid = static_cast<std::int64_t>(entrant.fence);
    lines.remove({.incarnation = {wire_.session(term), czxid, entrant.node}, .term = term});
}

void Protocol::withdraw(const Entrant& entrant) {
    lines.entrants.remove(entrant);
    take_back(entrant);
}

void Protocol::remove_later(const Incarnation& incarnation) {
    // Others' nodes are theirs to end, and those of an earlier session have gone with it.
    const auto term = wire_.term_of(incarnation.session);
    if (!term) return;
    Removal removal{.incarnation = incarnation, .term = *term};
    if (neighbour_of(last_of(incarnation.node))) removal.incarnation.made_by = 0;
    lines.remove_later(removal);
}

/// Without a session it is made until it is answered.
bool Protocol::is_over(const Removal& removal) const {
    const std::int64_t session = removal.incarnation.session;
    return session != 0 && session != wire_.session(removal.term);
}

/// Should it still be there, it belongs to nobody; but with barging another one may have the name
/// by now. What a holder has is not deleted while it is trusted: a server may say that a session is
/// over which others keep, a leader that they have left.
void Protocol::outlived(const Entrant& entrant) {
    if (entrant.is_barging()) return;
    const Term term = term_of(entrant);
    if (!entrant.admitted) return remove_node(term, entrant.node);
    lines.remove_later({.incarnation = {0, 0, entrant.node}, .term = term}, entrant.lease_end);
}

void Protocol::session_over(std::int64_t session) {
    lines.session_over(session);
    // Those without a node go on, but what they watched is not watched any more.
    lines.stir_all();
}

/// Those with a longer lease belong to no session any more: that tells holders with their next
/// renewal, whatever the servers do. What a holder has is not deleted before it was told.
void Protocol::session_shortened(std::int64_t session, std::chrono::milliseconds granted) {
    lines.take_back(lines.entrants.take_longer(session, granted));
}

void Protocol::unheard(std::int64_t session, const std::string& path) {
    unread.add(path);
    lines.stir(path, listed::NodeEvent::changed, session,
               {.state = State::waiting, .look_again = unheard_interval});
}

void Protocol::stirred(std::int64_t session, const std::string& path, Event::What what) {
    using listed::NodeEvent;
    lines.stir(path, what == Event::What::deleted ? NodeEvent::ended : NodeEvent::changed, session);
}

}  // namespace holdfast::inline v0::zookeeper
