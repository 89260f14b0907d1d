#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stores/etcd/etcd_wire.hpp"
#include "stores/etcd/leases.hpp"
#include "stores/etcd/line_keys.hpp"
#include "stores/etcd/promises.hpp"
#include "stores/listed/listed_store.hpp"

namespace holdfast::inline v0::etcd {

using listed::Entrant;
using listed::Incarnation;
using listed::Judgement;
using listed::Removal;

/// Lets contenders of one client into a line one after the other, in the order in which they were
/// asked for: a server works on all requests of a connection at once.
/// Threads: all members may be called from any thread.
class SingleFile {
public:
    /// What became of the one before: whether the members have answered it.
    enum class Before : std::uint8_t { was_served, was_not_served };

    /// Whether it goes, and is through later. Else nobody wants it any more, and it is passed over.
    using Go = std::function<bool(Before)>;
    /// Calls `go` when all that came before it are through: at once when there are none.
    void enter(const std::string& line, Go go);
    void is_through(const std::string& line, Before before);

private:
    Go take_next(const std::string& line);

    std::mutex mutex_;
    /// Of lines that somebody is about to come into: those behind it.
    std::map<std::string, std::list<Go>> waiting_;
};

/// The contenders whose enter was sent more than once: a copy of it may still arrive, also when
/// they have left line, or were taken out of it. Until their end was answered with a guard, or the
/// lease is over with which it was sent: then that copy is refused. Threads: all members may be
/// called from any thread.
class Doubts {
public:
    void add(const Nonce& nonce, std::int64_t lease);
    bool contains(const Nonce& nonce) const;
    /// A guard is there, and no key.
    void settled(const Nonce& nonce);
    void lease_over(std::int64_t lease);

private:
    mutable std::mutex mutex_;
    std::map<Nonce, std::int64_t> leases_;  ///< with which each was sent
};

/// etcd as one client uses it: a key for each contender, bound to the lease for its duration, which
/// is the session that it comes with.
/// Threads: all members may be called from any thread.
class Protocol final : public listed::Protocol,
                       public Watches::Listener,
                       public Leases::Owner,
                       public std::enable_shared_from_this<Protocol> {
public:
    explicit Protocol(Cluster cluster) : wire_(std::move(cluster)) {}
    /// Throws Error when no member can be reached in the time of a request, or none lets us in.
    /// Before anything else.
    void connect(const std::string& prefix);

    Leases leases{wire_};
    SingleFile single_file;
    Slots slots;
    Doubts doubts;

    EtcdWire& wire() override { return wire_; }
    const Cluster& cluster() const { return wire_.cluster(); }
    std::string shown() const override { return cluster().shown(); }
    Capabilities capabilities() const override { return etcd::capabilities; }
    Result<Examination> examine() override;
    void close() noexcept override { leases.give_back(); }

    void enter(std::span<const Contender> contenders, std::shared_ptr<EntryFlight> flight) override;
    Pending<Standing> look_at(const Entrant& entrant) override;
    /// Keeps the leases of all tickets alive, with a look at each.
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override;
    Pending<std::vector<Line>> inspect_one(const std::string& resource) override;

    /// `read(protocol, answer)` is called unless this is gone by then.
    template <class Request, class Read>
    void submit(Request request, Read read, std::optional<Moment> deadline = std::nullopt) {
        wire_.submit(
            std::move(request),
            [weak = weak_from_this(),
             read = std::move(read)](EtcdWire::AnswerTo<Request> answer) mutable {
                if (const auto self = weak.lock()) read(*self, std::move(answer));
            },
            deadline);
    }

    void stirred(const std::string& key, listed::NodeEvent event) override {
        lines.stir(key, event);
    }
    void look_again(const std::string& key, std::int64_t since) override;
    void lease_over(std::int64_t id) override {
        doubts.lease_over(id);
        lines.session_over(id);
    }

    /// Never: events of different watches are not ordered when a client is slow, one revision can
    /// end two contenders of one lease, and keys are used again.
    bool goes_by_events(const Entrant&) const override { return false; }
    void watch(const Entrant& entrant) override;
    void unwatch(const std::string& key) override { wire_.unwatch(key); }
    void tell_those_behind(const Entrant& entrant) override;
    void take_out_behind(const Entrant& entrant, const Neighbour& other,
                         Callback<void()> is_out) override;
    void was_taken_out(const Entrant& entrant) override;
    void take_back(const Entrant& entrant) override;
    void outlived(const Entrant& entrant) override;
    bool is_over(const Removal& removal) const override;
    void remove(const Removal& removal) override;

private:
    void remove_behind_guard(const Removal& removal);

    enum class Depth : std::uint8_t { last_two, whole_line };
    void look(const Entrant& entrant, Depth depth, const std::shared_ptr<Flight<Standing>>& flight);

    EtcdWire wire_;
};

}  // namespace holdfast::inline v0::etcd
