#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/zookeeper/protocol.hpp"

namespace holdfast::inline v0::zookeeper {

/// The way of one contender into its line, or to a free resource with barging. Answers its flight
/// once; nothing of it is left in line when it answers that it is gone.
///
///     create, list ──▶ judged ──▶ admitted, or waits
///        │  ▲                └──▶ taken out (it will not wait, or others use it otherwise)
///        │  └── the way to it is made: containers
///        └── the connection broke ──▶ look for the nonce ──▶ found: judged
///                                         └── not there: create again
///
/// It is taken out only while it is not the first: see listed::judge().
class Entering : public std::enable_shared_from_this<Entering> {
public:
    Entering(const std::shared_ptr<Protocol>& protocol, Contender contender,
             std::shared_ptr<Protocol::EntryFlight> flight);

    void start();

private:
    using Step = void (Entering::*)(Protocol&, Answer);

    bool is_barging() const { return contender_.fairness == Fairness::barging; }
    void send(Protocol& protocol, std::vector<Operation> operations, WhenLost when_lost, Step step);
    Operation creation(const Protocol& protocol) const;

    void look_first(Protocol& protocol);
    void looked(Protocol& protocol, Answer answer);
    void create(Protocol& protocol);
    void make_way(Protocol& protocol);
    void created(Protocol& protocol, Answer answer);
    void refused(Protocol& protocol, Refusal refusal);
    void search(Protocol& protocol);
    void searched(Protocol& protocol, Answer answer);
    void examined(Protocol& protocol, Answer answer);

    void judged(Protocol& protocol, std::string node, const Stat& stat,
                const std::vector<std::string>& children);
    void wait_in_line(Protocol& protocol, Entrant entrant, const Judgement& judgement);
    void look_at_holder(Protocol& protocol);
    void holder_seen(Protocol& protocol, Answer answer);
    void replace_container(Protocol& protocol);
    void container_replaced(Protocol& protocol, Answer answer);
    void wait_for_holder(Protocol& protocol);

    void take_out_behind(Protocol& protocol, const std::string& node, const Neighbour& other,
                         Result<std::vector<Entry>> result);
    void taken_out_behind(Protocol& protocol, Answer answer);
    void list_again(Protocol& protocol);
    void listed_again(Protocol& protocol, Answer answer);
    void take_out(Protocol& protocol, const std::string& node, Result<std::vector<Entry>> result);
    void finish_out();
    void finish(Protocol& protocol, Entrant entrant, Standing::State state);
    std::vector<Entry> gone() const;
    void finish_gone();
    void fail(Failure failure);
    bool has_time() const { return BootClock::now() < deadline_; }

    const std::weak_ptr<Protocol> protocol_;
    const Contender contender_;
    const std::shared_ptr<Protocol::EntryFlight> flight_;
    const std::string path_;
    const Term term_;
    const Moment deadline_;
    Moment sent_{};                        ///< the last request that made it, or found it
    bool repeated_ = false;                ///< a copy of its creation may still arrive
    std::size_t made_at_ = 0;              ///< which reply of a volley is that of its creation
    std::vector<std::string> candidates_;  ///< nodes with its nonce
    std::vector<std::string> children_;    ///< as listed with them
    std::int64_t listed_at_ = 0;           ///< as in Entrant
    std::string to_take_out_;
    /// What is answered when it is taken out.
    Result<std::vector<Entry>> outcome_ = std::vector<Entry>{};
};

}  // namespace holdfast::inline v0::zookeeper
