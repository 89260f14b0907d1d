#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "exploration/participant.hpp"
#include "simulation/random.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// What happened on a schedule of clients and independent nodes.
struct QuorumVerdict {
    std::string violation;  ///< empty: every promise was kept
    std::uint64_t events = 0;
    std::uint64_t admitted = 0;
    std::uint64_t written_back = 0;  ///< to nodes whose fences differed
    std::uint64_t held = 0;
    std::uint64_t contested = 0;
    std::uint64_t too_few = 0;
    std::uint64_t late = 0;
    std::uint64_t lost = 0;
    std::uint64_t crashes = 0;
    std::uint64_t restarts = 0;
    std::uint64_t jumps = 0;
    std::uint64_t overlaps = 0;  ///< after a node's clock went forward, told apart by fence
};

/// Clients and three to nine nodes in bad weather, from a seed: letters are lost, late and
/// doubled, clients pause and crash, nodes stop and come back without what they had, clocks jump.
///
/// A node whose clock is set back forgets nothing, and the other way round: both at once are beyond
/// what fences promise. A clock that is set forward may let two hold, told apart by their fences.
class QuorumSchedule {
public:
    QuorumSchedule(std::uint64_t seed, exploration::Fault fault, exploration::Lapse lapse,
                   std::ostream* trace);

    QuorumVerdict run();

private:
    using Vote = redlock::Vote;

    struct ServedNode {
        exploration::Node node;
        exploration::Node::Memory on_disk = {};
        std::chrono::microseconds ahead{0};
        std::int64_t drift_ppm = 0;
        Time down_until{0};
    };
    /// A client with one wish after another.
    struct Client {
        std::unique_ptr<MachineClock> clock;
        exploration::Participant participant;
        redlock::Proposals proposals;
        int wishes = 0;
        unsigned tries = 0;
        std::uint64_t weight = 0;
        std::uint64_t highest_when_sent = 0;
        bool was_in = false;
    };

    void make_nodes(exploration::Lapse lapse);
    void make_clients(exploration::Fault fault);
    void plan_trouble();
    void plan_trouble_of_node(std::size_t node);
    void plan_trouble_of_client(Who who);

    void enter(Who who);
    void send(Who who, const std::vector<exploration::Letter>& letters);
    void send_one(Who who, const exploration::Letter& letter);
    void arrive(Who who, const exploration::Letter& letter);
    void hear(Who who, const exploration::Letter& letter, const Vote& vote,
              std::chrono::microseconds clock);
    void give_up(Who who, const Nonce& nonce);
    void go_on(Who who, bool was_entering);
    void admitted(Who who);
    void refused(Who who);
    void renew(Who who, const Nonce& nonce);
    void leave(Who who, const Nonce& nonce);
    void next_wish(Who who);

    void restart(std::size_t node);
    void jump(std::size_t node);

    void check();
    void check_fence(const Client& client);
    void finish();
    bool all_done() const;
    void violated(const std::string& what);

    Client& client(Who who) { return clients_[static_cast<std::size_t>(who)]; }
    std::chrono::microseconds clock_of(const ServedNode& node) const;
    Time one_way();
    void trace(Who who, const char* what) const;

    Random random_;
    World world_;
    redlock::Terms terms_;
    bool clocks_jump_ = false;
    Time request_timeout_{0};
    std::chrono::milliseconds lease_{0};
    unsigned lost_ = 0;
    unsigned late_ = 0;
    unsigned doubled_ = 0;
    std::vector<ServedNode> nodes_;
    std::vector<Client> clients_;
    std::uint64_t nonces_ = 0;
    std::uint64_t highest_fence_ = 0;
    std::uint64_t highest_exclusive_ = 0;
    Time excused_until_{-1};
    QuorumVerdict verdict_;
};

}  // namespace holdfast::simulation
