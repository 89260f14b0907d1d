#include "stores/listed/entering.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "stores/listed/note.hpp"
#include "stores/zookeeper/failures.hpp"
#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

namespace {

using Verdict = Judgement::Verdict;

/// With barging a lock needs its name for itself.
Failure name_not_free(const Ensemble& ensemble) {
    return {
        errc::conflict, Effect::none,
        ensemble.shown() +
            ": somebody is in its line, or has a name below it; barging allows neither, and all "
            "its users must agree"};
}

/// Why the containers above a node, from the top, were not made; none when nothing is in the way of
/// making them once more.
Refusal refusal_of_way(std::span<const Reply> replies) {
    // One that is refused may be there all the same: whether it is, is known by what is below it.
    const auto last = std::find_if(replies.rbegin(), replies.rend(), [](const Reply& reply) {
        return reply.refusal != Refusal::no_node;
    });
    if (last == replies.rend() || last->refusal == Refusal::node_exists) return Refusal::none;
    return last->refusal;
}

/// A contender comes into its line, or to a free resource with barging.
///
///     create, list ──▶ judged
///        │  ▲
///        │  └── the way to it is made: containers
///        └── the connection broke ──▶ look for the nonce ──▶ found: judged
///                                         └── not there: create again
class EnteringByNode final : public listed::Entering<Protocol>,
                             public std::enable_shared_from_this<EnteringByNode> {
public:
    /// Who asks: somebody new, or with barging one who waits already, and may leave meanwhile.
    enum class Who : std::uint8_t { newcomer, waiter };

    EnteringByNode(const std::shared_ptr<Protocol>& protocol, const Contender& contender, Who who,
                   std::shared_ptr<Flight> flight)
        : Entering(protocol, {&contender, 1}, std::move(flight),
                   BootClock::now() + protocol->ensemble().request_timeout),
          who_(who),
          path_(protocol->paths.of(contender.resource)),
          term_(protocol->term_of(contender)) {}

    void start(Protocol& protocol) {
        if (protocol.doubts.is_buried(contender_.nonce)) return fail(withdrawn());
        if (contender_.resource.starts_with('/')) return fail(leading_slash(protocol.ensemble()));
        // Of the session that there is, or else the longest that was ever granted.
        const auto longest = protocol.wire().session(term_) != 0
                                 ? protocol.wire().session_timeout(term_)
                                 : protocol.wire().longest_session();
        if (contender_.lease > longest) {
            return fail(lease_too_long(contender_.lease, longest, protocol.ensemble()));
        }
        const auto known = protocol.lines.entrants.find(contender_.nonce);
        if (known && !known->node.empty()) return search(protocol);
        const bool impatient = contender_.patience == Patience::none;
        const bool may_be_busy = !is_barging() && protocol.occupied.contains(path_);
        impatient&& may_be_busy ? look_first(protocol) : create(protocol);
    }

private:
    using Step = void (EnteringByNode::*)(Protocol&, Answer);

    bool is_barging() const { return contender_.fairness == Fairness::barging; }

    void send(Protocol& protocol, std::vector<Operation> operations, WhenLost when_lost,
              Step step) {
        protocol.submit(term_,
                        {.operations = std::move(operations),
                         .when_lost = when_lost,
                         .deadline = deadline_,
                         .lease = contender_.lease},
                        [self = shared_from_this(), step](Protocol& alive, Answer answer) {
                            (self.get()->*step)(alive, std::move(answer));
                        });
    }

    /// The line was seen occupied: if it is so still, nothing is written. Asked of the leader's
    /// state: a release that was seen elsewhere before is seen here.
    void look_first(Protocol& protocol) {
        send(protocol, {catch_up(), list_children(path_)}, WhenLost::repeat,
             &EnteringByNode::looked);
    }

    void looked(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return fail(answer.result.failure());
        const auto line = line_by(answer.result.value()[1], path_);
        line.empty() ? protocol.occupied.remove(path_) : protocol.occupied.add(path_);
        const Judgement judgement = listed::judge_newcomer(line, contender_);
        if (judgement.verdict == Verdict::conflict) return fail(in_conflict(contender_, judgement));
        judgement.verdict == Verdict::waits ? finish_gone() : create(protocol);
    }

    /// Behind what is made on the way to it.
    void create(Protocol& protocol, std::vector<Operation> way = {}) {
        made_at_ = way.size();
        way.push_back(creation(protocol));
        if (!is_barging()) way.push_back(list_children(path_));
        send(protocol, std::move(way), WhenLost::tell, &EnteringByNode::created);
    }

    Operation creation(const Protocol& protocol) const {
        return create_node(is_barging() ? path_ : below(path_, node_name(contender_)),
                           listed::note_of(contender_),
                           is_barging() ? Kind::ephemeral : Kind::ephemeral_sequential,
                           protocol.ensemble().access());
    }

    /// With all containers above it, in the same volley: what is there already does not matter.
    void make_way(Protocol& protocol) {
        std::vector<Operation> way;
        for (const std::string& node : way_to(path_)) {
            if (is_barging() && node == path_) break;
            way.push_back(create_node(node, "", Kind::container, protocol.ensemble().access()));
        }
        create(protocol, std::move(way));
    }

    void created(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) {
            const bool lost = answer.result.failure().effect == Effect::unknown;
            repeated_ = repeated_ || lost;
            return lost && has_time() ? search(protocol) : fail(answer.result.failure());
        }
        const auto& replies = answer.result.value();
        const Reply& made = replies[made_at_];
        if (!made.ok()) {
            const Refusal of_way = refusal_of_way(std::span(replies).first(made_at_));
            if (made.refusal == Refusal::no_node && of_way != Refusal::none) {
                return fail(failure_of(of_way, protocol.ensemble()));
            }
            return refused(protocol, made.refusal);
        }
        sent_ = answer.sent;
        const auto [node, stat] = made.made();
        if (is_barging()) return take(protocol, stat);
        const Reply& listed = replies[made_at_ + 1];
        if (tells_nothing(listed.refusal)) {
            to_take_out_ = node;
            outcome_ = failure_of(listed.refusal, protocol.ensemble());
            return take_out(protocol);
        }
        judge_node(protocol, node, stat, line_by(listed, path_), listed.zxid);
    }

    void refused(Protocol& protocol, Refusal refusal) {
        if (refusal == Refusal::no_node && has_time()) return make_way(protocol);
        if (refusal == Refusal::no_children_for_ephemerals) {
            return fail(
                conflict({all, Fairness::barging}, {contender_.capacity, contender_.fairness}));
        }
        if (refusal == Refusal::node_exists && is_barging()) return look_at_holder(protocol);
        fail(failure_of(refusal, protocol.ensemble()));
    }

    /// After a lost connection, or when it is entered again. By a write, which shows all that was
    /// done before as well: what is found is a hold perhaps, and its session is to be proved for
    /// it.
    void search(Protocol& protocol) {
        const Operation seek = is_barging() ? read_node(path_) : list_children(path_);
        send(protocol, {write_nothing(), seek}, WhenLost::repeat, &EnteringByNode::searched);
    }

    void searched(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return fail(answer.result.failure());
        if (is_barging()) return holder_seen(protocol, std::move(answer));
        const Reply& listed = answer.result.value()[1];
        if (tells_nothing(listed.refusal)) {
            return fail(failure_of(listed.refusal, protocol.ensemble()));
        }
        found_ = line_by(listed, path_);
        found_at_ = listed.zxid;
        candidates_.clear();
        for (const Neighbour& one : found_) {
            if (one.nonce == contender_.nonce) candidates_.push_back(one.node);
        }
        if (candidates_.empty()) {
            protocol.lines.entrants.remove(contender_.nonce);
            return create(protocol);
        }
        std::vector<Operation> looks;
        for (const std::string& node : candidates_) looks.push_back(look_at_node(node));
        send(protocol, std::move(looks), WhenLost::repeat, &EnteringByNode::examined);
    }

    /// The first of them that came with the present session is the contender; the others are
    /// copies, or were left by a session that is over.
    void examined(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return fail_unknown(answer.result.failure());
        std::optional<std::pair<std::string, Stat>> own;
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            const Reply& reply = answer.result.value()[i];
            if (!reply.ok()) continue;
            const Stat stat = reply.stat();
            if (!own && stat.ephemeral_owner == answer.session) {
                own.emplace(candidates_[i], stat);
            } else {
                protocol.remove_node(term_, candidates_[i]);
                std::erase_if(found_, [&](const auto& one) { return one.node == candidates_[i]; });
            }
        }
        if (!own) return create(protocol);
        sent_ = answer.sent;
        judge_node(protocol, own->first, own->second, found_, found_at_);
    }

    Entrant entrant(std::string node, const Stat& stat) const {
        return {.contender = contender_,
                .path = path_,
                .node = std::move(node),
                .session = stat.ephemeral_owner,
                .fence = static_cast<std::uint64_t>(stat.czxid),
                .lease_end = sent_ + contender_.lease};
    }
    void judge_node(Protocol& protocol, const std::string& node, const Stat& stat,
                    const std::vector<Neighbour>& line, std::int64_t listed_at) {
        protocol.occupied.add(path_);
        judged(protocol, entrant(node, stat), line, listed_at);
    }

    /// With barging: the node at the resource's path is its own.
    void take(Protocol& protocol, const Stat& stat) {
        Entrant own = entrant(path_, stat);
        own.admitted = true;
        came_in(protocol, std::move(own));
    }

    void look_at_holder(Protocol& protocol) {
        send(protocol, {catch_up(), read_node(path_)}, WhenLost::repeat,
             &EnteringByNode::holder_seen);
    }

    void holder_seen(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return fail(answer.result.failure());
        const Reply& reply = answer.result.value()[1];
        if (!reply.ok()) {
            if (reply.refusal == Refusal::no_node && has_time()) return create(protocol);
            return fail(failure_of(reply.refusal, protocol.ensemble()));
        }
        const auto [data, stat] = reply.content();
        if (stat.ephemeral_owner == 0) return replace_container(protocol);
        const auto note = listed::note_in(data);
        const bool own = note && note->nonce == contender_.nonce;
        sent_ = answer.sent;
        if (own && stat.ephemeral_owner == answer.session) return take(protocol, stat);
        // What an earlier session has left goes with it; the name may be another one's next.
        contender_.patience == Patience::none ? finish_gone() : wait_for_holder(protocol);
    }

    /// A container stands where the lock is to be. One that a line has left behind may go; should
    /// another one have put its node there meanwhile, that stays.
    void replace_container(Protocol& protocol) {
        send(protocol, {delete_lasting_node(path_, protocol.ensemble().access())}, WhenLost::repeat,
             &EnteringByNode::container_replaced);
    }

    void container_replaced(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return fail(answer.result.failure());
        const Refusal refusal = answer.result.value().front().refused();
        const bool away = refusal == Refusal::none || refusal == Refusal::no_node ||
                          refusal == Refusal::no_children_for_ephemerals;
        if (away && has_time()) return create(protocol);
        if (away || refusal == Refusal::not_empty) return fail(name_not_free(protocol.ensemble()));
        fail(failure_of(refusal, protocol.ensemble()));
    }

    void wait_for_holder(Protocol& protocol) {
        sent_ = BootClock::now();
        Entrant waiting = entrant({}, {});
        waiting.watched = {path_};
        came_in(protocol, std::move(waiting));
    }

    void take_out_behind(Protocol& protocol, const Entrant& own, const Neighbour& other) override {
        to_take_out_ = own.node;
        send(protocol, {delete_behind(own.node, other.node)}, WhenLost::repeat,
             &EnteringByNode::taken_out_behind);
    }

    void taken_out_behind(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return take_out(protocol);
        const Refusal refusal = answer.result.value().front().refused();
        if (refusal == Refusal::none) return finish_out();
        // It may be another user's, who alone may look at it.
        const bool unknown = refusal != Refusal::no_node || !has_time();
        unknown ? take_out(protocol) : list_again(protocol);
    }

    void list_again(Protocol& protocol) {
        send(protocol, {write_nothing(), list_children(path_), look_at_node(to_take_out_)},
             WhenLost::repeat, &EnteringByNode::listed_again);
    }

    void listed_again(Protocol& protocol, Answer answer) {
        if (!answer.result.ok()) return take_out(protocol);
        const Reply& listed = answer.result.value()[1];
        const Reply& own = answer.result.value()[2];
        // An earlier copy of its deletion has done it.
        if (own.refusal == Refusal::no_node) return finish_out();
        if (!listed.ok() || !own.ok()) return take_out(protocol);
        sent_ = answer.sent;
        judge_node(protocol, to_take_out_, own.stat(), line_by(listed, path_), listed.zxid);
    }

    /// It is answered when nothing of it is left.
    void take_out(Protocol& protocol) {
        protocol.submit(term_, {.operations = {delete_node(to_take_out_)}},
                        [self = shared_from_this()](Protocol& alive, const Answer& answer) {
                            self->taken_out(alive, answer);
                        });
    }
    void taken_out(Protocol& protocol, const Answer& answer) {
        if (!answer.result.ok()) return fail_unknown(answer.result.failure());
        const Refusal refusal = answer.result.value().front().refusal;
        if (!tells_nothing(refusal)) return finish_out();
        fail_unknown(failure_of(refusal, protocol.ensemble()));
    }

    void vanished(Protocol&) override { finish_gone(); }

    /// One that has left is not in line again.
    bool is_remembered(Protocol& protocol, const Entrant& own) const {
        if (who_ == Who::waiter) return protocol.lines.entrants.replace(own);
        protocol.lines.entrants.add(own);
        return true;
    }

    void came_in(Protocol& protocol, Entrant own) override {
        const bool has_node = !own.node.empty();
        Entry entry = entry_of(own, std::nullopt);
        if (has_node) {
            entry.standing.counted_from =
                protocol.wire().counted_from(term_, sent_, contender_.lease);
        }
        if (!is_remembered(protocol, own)) {
            protocol.take_back(own);
            return finish_gone();
        }
        // It may have ended before the contender was known to be in it, or been shortened.
        if (has_node && protocol.wire().session(term_) != own.session) {
            // Nobody was told that it is in.
            protocol.withdraw(own);
            protocol.session_over(own.session);
            return finish_gone();
        }
        if (has_node && protocol.wire().session_timeout(term_) < contender_.lease) {
            protocol.withdraw(own);
            return finish_gone();
        }
        complete(Entries{std::move(entry)});
    }

    void finish_gone() override {
        const auto protocol = protocol_.lock();
        if (protocol && repeated_) protocol->doubts.bury(contender_.nonce, BootClock::now());
        complete(gone());
    }

    void complete(Outcome outcome) override {
        const bool unknown = !outcome.ok() && outcome.failure().effect == Effect::unknown;
        const auto protocol = protocol_.lock();
        if (protocol && (repeated_ || unknown)) leave_doubt(*protocol);
        Entering::complete(std::move(outcome));
    }

    void leave_doubt(Protocol& protocol) const {
        protocol.doubt(term_, path_, contender_.nonce);
        // It left before there was a doubt.
        const bool has_left =
            who_ == Who::waiter && !protocol.lines.entrants.find(contender_.nonce);
        if (has_left) protocol.doubts.bury(contender_.nonce, BootClock::now());
    }

    const Contender& contender_ = contenders_.front();
    const Who who_;
    const std::string path_;
    const Term term_;
    std::size_t made_at_ = 0;              ///< which reply of a volley is that of its creation
    std::vector<std::string> candidates_;  ///< nodes with its nonce
    std::vector<Neighbour> found_;         ///< the line as listed with them
    std::int64_t found_at_ = 0;
    std::string to_take_out_;
};

}  // namespace

void Protocol::enter(std::span<const Contender> contenders, std::shared_ptr<EntryFlight> flight) {
    using Who = EnteringByNode::Who;
    std::make_shared<EnteringByNode>(shared_from_this(), contenders.front(), Who::newcomer,
                                     std::move(flight))
        ->start(*this);
}

/// With barging whoever is woken tries to take it.
Pending<Standing> Protocol::take_if_free(const Entrant& entrant) {
    const auto entered = std::make_shared<EntryFlight>(wire_);
    const auto flight = std::make_shared<Flight<Standing>>(wire_);
    Pending<std::vector<Entry>> entering(entered);
    std::make_shared<EnteringByNode>(shared_from_this(), entrant.contender,
                                     EnteringByNode::Who::waiter, entered)
        ->start(*this);
    std::move(entering).then([flight, weak = weak_from_this(),
                              nonce = entrant.nonce()](const Result<std::vector<Entry>>& result) {
        if (!result.ok()) return flight->complete(result.failure());
        if (const auto alive = weak.lock()) alive->lines.arm(nonce);
        Standing standing = result.value().front().standing;
        standing.counted_from.reset();
        flight->complete(standing);
    });
    return Pending<Standing>(flight);
}

}  // namespace holdfast::inline v0::zookeeper
