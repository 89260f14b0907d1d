#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <holdfast/error.hpp>

#include "port/pending.hpp"
#include "port/watchers.hpp"
#include "stores/listed/judgement.hpp"
#include "stores/listed/note.hpp"
#include "stores/listed/roster.hpp"
#include "stores/zookeeper/node_path.hpp"
#include "stores/zookeeper/seat.hpp"
#include "stores/zookeeper/zookeeper_wire.hpp"

namespace holdfast::inline v0::zookeeper {

using listed::admitted_in;
using listed::judge;
using listed::Judgement;
using listed::Member;
using listed::note_in;
using listed::note_of;
using listed::place_in;
using listed::PlaceText;
using listed::Roster;
using listed::text_of;

/// What the verbs of one client share: its sessions, its contenders, and what it has seen.
/// Threads: all members may be called from any thread.
class Common final : public Listener, public std::enable_shared_from_this<Common> {
public:
    explicit Common(Ensemble ensemble) : paths(ensemble.chroot), wire(std::move(ensemble)) {}

    const Paths paths;
    Roster roster;
    const std::shared_ptr<Watchers> watchers = std::make_shared<Watchers>();
    ZookeeperWire wire;

    const Ensemble& ensemble() const { return wire.ensemble(); }
    /// Of the session that a contender tries to get in with.
    Term term_of(const Contender& contender) const {
        return wire.term_for(ensemble().term_of(contender.lease));
    }
    /// Of the session that it came with, while that is there.
    Term term_of(const Member& member) const {
        return wire.term_of(member.session).value_or(term_of(member.contender));
    }
    /// Whether the session that it came with is there.
    bool is_of_present_session(const Member& member) const {
        return wire.term_of(member.session).has_value();
    }

    /// `read(common, answer)` is called unless this is gone by then. Should it throw because a
    /// reply is not what belongs to its request, it is called again, with a failure.
    template <class Read>
    void submit(Term term, Volley&& volley, Read read) {
        wire.submit(
            term, std::move(volley), [weak = weak_from_this(), read](Answer answer) mutable {
                const auto self = weak.lock();
                if (!self) return;
                Answer unreadable{
                    {Failure{errc::unreachable, Effect::unknown, {}}, true, answer.sent},
                    answer.session};
                try {
                    read(*self, std::move(answer));
                } catch (const Error& error) {
                    if (error.code() != errc::corrupt) throw;
                    unreadable.result = Failure{
                        errc::unreachable, Effect::unknown,
                        self->ensemble().shown() + ": a reply that is none (" + error.what() +
                            "); check that host and port are a ZooKeeper server's"};
                    read(*self, std::move(unreadable));
                }
            });
    }

    /// Takes what is over out of line: leases that nobody renewed while this client was busy or
    /// paused, and late copies of an enter. Each verb begins with it.
    void tidy();
    /// In the background, and again until it is answered or the session is over: for a node that
    /// has its name to itself.
    void remove_node(Term term, const std::string& node);
    /// A deletion of a node of this session was not answered: it is made again, as above. With
    /// barging only while the node is the same.
    void remove_later(const PlaceText& place);

    /// An enter went out more than once, or may yet arrive: its copies are looked for until the
    /// session, which they belong to, could not have them any more.
    void doubt(Term term, const std::string& path, const Nonce& nonce);
    /// Of the session that its enter went out with; nothing when it is not doubted.
    std::optional<Term> doubted_in(const Nonce& nonce) const;
    bool is_doubted(const Nonce& nonce) const;

    /// Whether somebody was in line when it was last looked at.
    bool was_occupied(const std::string& path) const;
    void saw(const std::string& path, bool occupied);

    /// Where a contender of ours stands by what was answered about it: the list of its line, or,
    /// with barging, its node. Remembers it, and watches what it must.
    Standing stands(const Member& member, const Reply& reply);
    /// The one before it has ended: it is admitted, unless it was taken out of line meanwhile.
    Standing its_turn(const Member& member);
    /// It was admitted: whoever waits behind it with permits looks at it alone.
    void tell_those_behind(const Member& member);
    /// Takes it out of line again, in the background. Whoever asks is told that it is gone.
    void withdraw(const Member& member);
    /// Watches what it waits for, if somebody wants to hear of it.
    void arm(const Nonce& nonce);

    void session_over(std::int64_t session) override;
    void session_shortened(std::int64_t session, std::chrono::milliseconds granted) override;
    void stirred(std::int64_t session, const std::string& path, Event::What what) override;
    void unheard(std::int64_t session, const std::string& path) override;

private:
    struct Doubt {
        Term term;
        std::string path;
        Moment next;
        Moment until;
    };
    /// A node that is to go, and with barging which one of that name: else czxid is 0.
    struct Leftover {
        Term term{};
        std::int64_t session = 0;
        std::int64_t czxid = 0;
        Moment next{};
        bool under_way = false;
    };
    void take_back(const Member& member);
    void keep_leftover(const std::string& node, const Leftover& leftover);
    void remove_leftovers(Moment now);
    void send_removal(const std::string& node, const Leftover& leftover);
    void removal_answered(const std::string& node, std::int64_t czxid, bool done);
    void look_for_copies(const Nonce& nonce, const Doubt& doubt);
    void remove_copies(const Nonce& nonce, const Doubt& doubt,
                       const std::vector<std::string>& children);
    void remove_barging_copy(const Nonce& nonce, const Doubt& doubt, const Reply::Content& content);
    Standing stands_in_line(const Member& member, const Reply& listed);
    Standing waits(const std::vector<std::string>& watched) const;
    void leave_behind(const Member& member, const Seat& other);

    mutable std::mutex mutex_;
    std::set<std::string> occupied_;
    std::set<std::string> unheard_;  ///< nodes that we may not read
    std::map<Nonce, Doubt> doubts_;
    std::map<std::string, Leftover> leftovers_;  ///< by node
};

/// Those of a line that concern a contender which waits: its own node first, so that nothing ended
/// before it that is told after it.
std::vector<std::string> nodes_to_watch(const std::string& path, const std::string& own,
                                        const Judgement& judgement);

}  // namespace holdfast::inline v0::zookeeper
