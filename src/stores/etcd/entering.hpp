#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "stores/etcd/protocol.hpp"

namespace holdfast::inline v0::etcd {

/// The way of contenders into their lines, all in one transaction. Answers its flight once; nothing
/// of them is left in line when it answers that the last one is gone.
///
///     a lease ──▶ one that waits: list its line, put ───────────────▶ judged
///            └──▶ others: put all, if nobody came to their lines since they were seen
///                  │      (at first: if nobody is there) ───────────▶ admitted
///                  └─▶ seen ──▶ they fit now: put all, if ...
///                        └────▶ one does not: gone, or list its line, and put up to that one
///
/// A transaction may be repeated: who is there already is found, and so is the guard of whoever was
/// taken out before. One that uses the resource as something else is taken out only while it is not
/// the first: see listed::judge().
class Entering : public std::enable_shared_from_this<Entering> {
public:
    Entering(const std::shared_ptr<Protocol>& protocol, std::span<const Contender> contenders,
             std::shared_ptr<Protocol::EntryFlight> flight);

    void start();

private:
    using Answer = EtcdWire::AnswerTo<messages::TxnRequest>;
    using Lists = std::vector<std::vector<Neighbour>>;  ///< the line of each
    using Operations = google::protobuf::RepeatedPtrField<messages::RequestOp>;

    /// What the present transaction puts: so many, the last of which may have to wait.
    struct Plan {
        std::size_t count = 0;
        bool last_waits = false;
    };

    /// It is one, and stands in line if it must.
    bool waits_alone() const;
    void get_lease(Protocol& protocol);
    void send(Protocol& protocol, Plan plan);
    messages::TxnRequest transaction(Plan plan) const;
    void see_all(Operations& operations) const;
    void answered(Protocol& protocol, Plan plan, Answer answer);
    void ask_why(Protocol& protocol);
    void came_in(Protocol& protocol, Plan plan, const messages::TxnResponse& response);
    void last_came_in(Protocol& protocol, Plan plan, const messages::TxnResponse& response);
    void list_last_line(Protocol& protocol, Plan plan);
    void judge_last(Protocol& protocol, Plan plan, const std::vector<Neighbour>& line);
    void last_waits(Protocol& protocol, std::size_t last, const Judgement& judgement);
    void last_disagrees(Protocol& protocol, Plan plan, const Judgement& judgement);
    void last_taken_out(Protocol& protocol, Plan plan, const Judgement& judgement,
                        const Answer& answer);
    void seen(Protocol& protocol, const messages::TxnResponse& response);
    bool change_slots(Protocol& protocol, const Lists& lines);
    bool is_guarded(const messages::TxnResponse& response) const;
    Lists lines_in(const messages::TxnResponse& response) const;
    void found(Protocol& protocol, const Lists& lines);
    void look(Protocol& protocol, const Lists& lines);

    void name_keys();
    /// Its weight leaves no room for anybody: who is next before it is all that matters.
    bool is_exclusive(std::size_t index) const;
    Failure in_conflict(std::size_t index, std::uint64_t capacity_ahead) const;
    Entrant entrant(std::size_t index, std::int64_t made_by) const;
    void add(Protocol& protocol, Entrant entrant, Standing::State state);
    void take_out(Protocol& protocol, std::size_t count, Result<std::vector<Entry>> result);
    void remove_key(Protocol& protocol, std::size_t index);
    void taken_out();
    void finish(Protocol& protocol);
    void complete(Result<std::vector<Entry>> result);
    std::size_t used_slots(const Result<std::vector<Entry>>& result) const;
    void finish_gone();
    void bar(std::size_t index);
    std::vector<Entry> gone() const;
    void fail(Failure failure);
    void fail_unknown(Failure failure);
    bool has_time() const { return BootClock::now() < deadline_; }

    const std::weak_ptr<Protocol> protocol_;
    const std::vector<Contender> contenders_;
    const std::shared_ptr<Protocol::EntryFlight> flight_;
    const Moment deadline_;
    std::vector<std::uint64_t> slots_;  ///< one for each
    std::vector<std::string> keys_;     ///< with them, and the lease
    Lease lease_;
    std::int64_t seen_at_ = 0;  ///< the revision of the lines that were seen
    Moment sent_{};
    bool repeated_ = false;
    std::int64_t made_by_ = 0;  ///< the revision in which they came in
    std::size_t to_take_out_ = 0;
    /// What is answered when they are taken out.
    std::optional<Result<std::vector<Entry>>> after_;
    std::optional<Failure> not_taken_out_;
    std::vector<Entry> entries_;
};

}  // namespace holdfast::inline v0::etcd
