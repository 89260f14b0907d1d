#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "stores/ledger/records.hpp"
#include "stores/ledger/table.hpp"

namespace holdfast::inline v0::ledger {

/// How long an offered place stays reserved for the one it is offered to.
inline constexpr std::chrono::seconds claim_time{1};

/// A waiter that should be woken, and what it is told.
struct Told {
    ClientId client = 0;
    Nonce nonce;
    Standing::State state = Standing::State::waiting;
};

/// What a Ledger works on: one transaction at one moment.
struct Scene {
    Table& table;
    Moment now;
    std::uint64_t wall_microseconds = 0;
    /// The highest fence ever given by this store; written through.
    std::uint64_t& last_fence;
};

/// One resource's line in a transaction: a head, its holders (admitted, or offered a place) and its
/// waiters in ticket order. The head remembers the weights, so that nothing here reads a long line:
/// each step touches its own contender and the first few waiters.
class LinePage {
public:
    /// Both names must outlive the page. Throws Error when another name has the same id.
    LinePage(Scene& scene, std::vector<Told>& told, std::string_view resource);
    /// The page of a line that was found in the table.
    LinePage(Scene& scene, std::vector<Told>& told, const ResourceId& id);

    bool empty() const { return head_.holders + head_.waiters == 0; }
    const Head& head() const { return head_; }
    const ResourceId& id() const { return id_; }
    std::string_view name() const { return name_; }

    /// The first contender decides what the resource is like.
    void start(std::uint64_t capacity, Fairness fairness);
    /// Writes the head, or removes it when nobody is left.
    void save();

    std::optional<Row<Record>> holder(const Nonce& nonce) const;
    std::optional<Row<Record>> waiter(std::uint64_t ticket, const Nonce& nonce) const;
    /// The holder whose owner this is and that has a place of its own.
    std::optional<Record> holder_of(std::string_view owner) const;
    std::vector<Row<Record>> holders() const;
    std::vector<Row<Record>> waiters() const;

    /// The admission rule for a newcomer behind everybody.
    bool admits(std::uint64_t weight) const;
    /// Whether that much is free now, whoever waits.
    bool has_room(std::uint64_t weight) const {
        return weight <= head_.capacity - head_.held_weight;
    }

    std::uint64_t take_ticket() { return head_.next_ticket++; }
    /// The text is what follows the record: see Record.
    void add_holder(const Record& record, std::string_view text);
    void add_waiter(Record record, std::string_view text);
    /// Rewrites what it found; the phase decides where.
    void update(const Record& record);
    void remove_holder(const Record& record);
    void remove_waiter(const Record& record);
    /// Makes a waiter a holder: admitted, or offered.
    void promote(Record record, Phase phase);

    /// Throws out whose lease or claim has ended and passes free places on. Nothing to do costs
    /// nothing.
    void advance();

    /// When the one who asks is among the first few: how long until something ahead of it should
    /// have ended, and those before it have looked.
    std::optional<std::chrono::nanoseconds> look_again(std::uint64_t ticket) const;

    /// max(last + 1, wall clock), below 2^53.
    std::uint64_t next_fence();

private:
    std::optional<std::string_view> load();
    void end_overdue_holders();
    void lapse(Record record, std::string_view text);
    void pass_on();
    void tell(const Record& record, Standing::State state);
    void make_first(Record record);
    void put_record(const Key& key, const Record& record, std::string_view text);
    void put_waiter(const Record& record, std::string_view text);
    void erase_waiter(const Record& record);
    void count_holder(const Record& record);
    void hand_to_joined(const Record& record);
    std::optional<Row<Record>> next_waiter(std::uint64_t from) const;

    Scene& scene_;
    std::vector<Told>& told_;
    ResourceId id_;
    std::string own_name_;
    std::string_view name_;
    Head head_;
    mutable std::string scratch_;
    bool stored_ = false;
    bool changed_ = false;
    bool freed_ = false;  ///< in this transaction: under barging only that wakes anybody
};

}  // namespace holdfast::inline v0::ledger
