#include <algorithm>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "port/admission.hpp"
#include "unit/stores/ledger/map_table.hpp"

namespace holdfast::ledger {
namespace {

using State = Standing::State;

/// A line kept by hand, with the pure rule alone.
class PureLine {
public:
    struct Member {
        Ticket ticket;
        InLine in_line;
    };

    PureLine(std::uint64_t capacity, Fairness fairness)
        : capacity_(capacity), fairness_(fairness) {}

    void enter(const Ticket& ticket, std::uint64_t weight) {
        members_.push_back({ticket, {.weight = weight}});
        members_.back().in_line.admitted = admits(members_.size() - 1);
    }
    void leave(std::size_t index) {
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    bool admits(std::size_t index) const {
        std::vector<InLine> line;
        for (const Member& member : members_) line.push_back(member.in_line);
        return is_admitted(line, index, capacity_, fairness_);
    }
    /// Everybody claims what the rule grants, the first in line first.
    void settle() {
        for (std::size_t i = 0; i < members_.size(); ++i) members_[i].in_line.admitted = admits(i);
    }
    std::vector<Member>& members() { return members_; }

private:
    std::uint64_t capacity_;
    Fairness fairness_;
    std::vector<Member> members_;
};

struct Kind {
    std::uint64_t capacity;
    Fairness fairness;

    friend void PrintTo(const Kind& kind, std::ostream* out) {
        *out << kind.capacity << (kind.fairness == Fairness::fifo ? " fifo" : " barging");
    }
};

class TheRule : public testing::TestWithParam<Kind> {
protected:
    std::uint64_t weight() {
        const auto capacity = GetParam().capacity;
        if (capacity == all) return random_() % 2 == 0 ? all : 1;
        return random_() % capacity + 1;
    }
    void enter() {
        auto made = contender("a", ++numbers_, weight(), GetParam().capacity);
        made.fairness = GetParam().fairness;
        const Entry entry = book_.enter(made);
        pure_.enter(entry.ticket, made.weight);
        EXPECT_EQ(entry.standing.state == State::admitted, pure_.members().back().in_line.admitted);
    }
    void leave() {
        if (pure_.members().empty()) return;
        const auto index = random_() % pure_.members().size();
        book_.leave(pure_.members()[index].ticket);
        pure_.leave(index);
        claim();
    }
    /// In line order, until nobody moves any more.
    void claim() {
        pure_.settle();
        for (const auto& member : pure_.members()) book_.renew(member.ticket);
    }
    void compare() {
        for (const auto& member : pure_.members()) {
            const State state = book_.standing(member.ticket).state;
            EXPECT_EQ(state == State::admitted, member.in_line.admitted);
            if (HasFailure()) return;
        }
    }

    std::mt19937_64 random_;
    std::uint64_t numbers_ = 0;
    Book book_;
    PureLine pure_{GetParam().capacity, GetParam().fairness};
};

TEST_P(TheRule, IsTheSameInTheLedgerOnRandomLines) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_.seed(seed);
        book_ = Book();
        pure_ = PureLine(GetParam().capacity, GetParam().fairness);
        for (int step = 0; step < 120 && !HasFailure(); ++step) {
            pure_.members().size() > 12 || random_() % 5 < 2 ? leave() : enter();
            compare();
        }
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, TheRule,
                         testing::Values(Kind{all, Fairness::fifo}, Kind{all, Fairness::barging},
                                         Kind{1, Fairness::fifo}, Kind{3, Fairness::fifo},
                                         Kind{3, Fairness::barging}, Kind{7, Fairness::fifo},
                                         Kind{7, Fairness::barging}),
                         [](const auto& kind) {
                             return (kind.param.fairness == Fairness::fifo ? "Fifo" : "Barging") +
                                    (kind.param.capacity == all
                                         ? std::string("All")
                                         : std::to_string(kind.param.capacity));
                         });

}  // namespace
}  // namespace holdfast::ledger
