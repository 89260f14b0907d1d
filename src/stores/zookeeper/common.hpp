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
#include "stores/zookeeper/judgement.hpp"
#include "stores/zookeeper/node_path.hpp"
#include "stores/zookeeper/roster.hpp"
#include "stores/zookeeper/zookeeper_wire.hpp"

namespace holdfast::inline v0::zookeeper {

/// What the verbs of one client share: its session, its contenders, and what it has seen.
/// Threads: all members may be called from any thread.
class Common final : public ZookeeperWire::Listener, public std::enable_shared_from_this<Common> {
public:
    using Answer = ZookeeperWire::Answer;
    using Volley = ZookeeperWire::Volley;

    explicit Common(Ensemble ensemble) : paths(ensemble.chroot), wire(std::move(ensemble)) {}

    const Paths paths;
    Roster roster;
    const std::shared_ptr<Watchers> watchers = std::make_shared<Watchers>();
    ZookeeperWire wire;

    const Ensemble& ensemble() const { return wire.ensemble(); }

    /// `read(common, answer)` is called unless this is gone by then. Should it throw because a
    /// reply is not what belongs to its request, it is called again, with a failure.
    template <class Read>
    void submit(Volley&& volley, Read read) {
        wire.submit(std::move(volley), [weak = weak_from_this(), read](Answer answer) mutable {
            const auto self = weak.lock();
            if (!self) return;
            Answer unreadable{Failure{errc::unreachable, Effect::unknown, {}}, true, answer.sent,
                              answer.session};
            try {
                read(*self, std::move(answer));
            } catch (const Error& error) {
                if (error.code() != errc::corrupt) throw;
                unreadable.result =
                    Failure{errc::unreachable, Effect::unknown,
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
    void remove_node(const std::string& node);
    /// A deletion of a node of this session was not answered: it is made again, as above. With
    /// barging only while the node is the same.
    void remove_later(const PlaceText& place);

    /// An enter went out more than once, or may yet arrive: its copies are looked for until the
    /// session, which they belong to, could not have them any more.
    void doubt(const std::string& path, const Nonce& nonce);
    bool is_doubted(const Nonce& nonce) const;

    /// Whether somebody was in line when it was last looked at.
    bool was_occupied(const std::string& path) const;
    void saw(const std::string& path, bool occupied);

    /// Where a contender of ours stands by what was answered about it: the list of its line, or,
    /// with barging, its node. Remembers it, and watches what it must.
    Standing stands(const Member& member, const Reply& reply);
    /// The one before it has ended: it is admitted.
    Standing its_turn(const Member& member);
    /// It was admitted: whoever waits behind it with permits looks at it alone.
    void tell_those_behind(const Member& member);
    /// Watches what it waits for, if somebody wants to hear of it.
    void arm(const Nonce& nonce);

    void session_over(std::int64_t session) override;
    void stirred(const std::string& path, Event::What what) override;

private:
    struct Doubt {
        std::string path;
        Moment next;
        Moment until;
    };
    /// A node that is to go, and with barging which one of that name: else czxid is 0.
    struct Leftover {
        std::int64_t session = 0;
        std::int64_t czxid = 0;
        Moment next{};
        bool under_way = false;
    };
    void take_back(const Member& member);
    void keep_leftover(const std::string& node, const Leftover& leftover);
    void remove_leftovers(Moment now);
    void send_removal(const std::string& node, std::int64_t czxid);
    void removal_answered(const std::string& node, std::int64_t czxid, bool done);
    void look_for_copies(const Nonce& nonce, const std::string& path);
    void remove_copies(const Nonce& nonce, const std::string& path,
                       const std::vector<std::string>& children);
    void remove_barging_copy(const Nonce& nonce, const std::string& path,
                             const Reply::Content& content);
    Standing stands_in_line(const Member& member, const Reply& listed);

    mutable std::mutex mutex_;
    std::set<std::string> occupied_;
    std::map<Nonce, Doubt> doubts_;
    std::map<std::string, Leftover> leftovers_;  ///< by node
};

Failure conflict(const Ensemble& ensemble, std::uint64_t capacity_ahead);
Failure fairness_conflict(const Ensemble& ensemble);

}  // namespace holdfast::inline v0::zookeeper
