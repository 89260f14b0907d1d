#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/zookeeper/common.hpp"

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
/// It is taken out only while it is not the first: see judge().
class Entering : public std::enable_shared_from_this<Entering> {
public:
    using Flight = holdfast::Flight<std::vector<Entry>>;

    Entering(const std::shared_ptr<Common>& common, Contender contender,
             std::shared_ptr<Flight> flight);

    void start();

private:
    using Step = void (Entering::*)(Common&, Answer);

    bool is_barging() const { return contender_.fairness == Fairness::barging; }
    void send(Common& common, std::vector<Operation> operations, WhenLost when_lost, Step step);
    Operation creation(const Common& common) const;

    void look_first(Common& common);
    void looked(Common& common, Answer answer);
    void create(Common& common);
    void make_way(Common& common);
    void created(Common& common, Answer answer);
    void refused(Common& common, Refusal refusal);
    void search(Common& common);
    void searched(Common& common, Answer answer);
    void examined(Common& common, Answer answer);

    void judged(Common& common, std::string node, const Stat& stat,
                const std::vector<std::string>& children);
    void wait_in_line(Common& common, Member member, const Judgement& judgement);
    void look_at_holder(Common& common);
    void holder_seen(Common& common, Answer answer);
    void replace_container(Common& common);
    void container_replaced(Common& common, Answer answer);
    void wait_for_holder(Common& common);

    void take_out_behind(Common& common, const std::string& node, const Seat& other,
                         Result<std::vector<Entry>> result);
    void taken_out_behind(Common& common, Answer answer);
    void list_again(Common& common);
    void listed_again(Common& common, Answer answer);
    void take_out(Common& common, const std::string& node, Result<std::vector<Entry>> result);
    void finish_out();
    void finish(Common& common, Member member, Standing::State state);
    std::vector<Entry> gone() const;
    void finish_gone();
    void fail(Failure failure);
    bool has_time() const { return BootClock::now() < deadline_; }

    const std::weak_ptr<Common> common_;
    const Contender contender_;
    const std::shared_ptr<Flight> flight_;
    const std::string path_;
    const Term term_;
    const Moment deadline_;
    Moment sent_{};                        ///< the last request that made it, or found it
    bool repeated_ = false;                ///< a copy of its creation may still arrive
    std::size_t made_at_ = 0;              ///< which reply of a volley is that of its creation
    std::vector<std::string> candidates_;  ///< nodes with its nonce
    std::vector<std::string> children_;    ///< as listed with them
    std::int64_t listed_at_ = 0;           ///< as in Member
    std::string to_take_out_;
    /// What is answered when it is taken out.
    Result<std::vector<Entry>> outcome_ = std::vector<Entry>{};
};

}  // namespace holdfast::inline v0::zookeeper
