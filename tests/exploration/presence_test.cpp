#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "stores/redlock/presence.hpp"

/// One client, one node and what is under way between them, in every order: requests that go by one
/// connection after the other, copies that were lost with one and are carried out late, what is
/// refused unheard and comes again, what is given up, and answers that are heard in any order. In
/// the end nobody is in who has left. The client is what redlock::Candidacy runs.
namespace holdfast::redlock {
namespace {

enum class What : std::uint8_t { enter, leave, leave_with_tombstone, withdrawal };

/// On its way to the node.
struct Errand {
    What what = What::enter;
    bool is_repeated = false;  ///< a copy of it was lost
    bool is_late = false;      ///< it was sent after its client had left
    bool is_again = false;     ///< a renewal has missed it
    auto operator<=>(const Errand&) const = default;
};

struct Answer {
    Errand request = {};
    enum class How : std::uint8_t { in, done, untouched, unknown } how = How::done;
    auto operator<=>(const Answer&) const = default;
};

/// What is wrong on purpose.
enum class Flaw : std::uint8_t {
    none,
    trusts_the_order,    ///< what was refused unheard is not sent behind its leave
    forgets_copies,      ///< what was lost is not carried out
    plants_no_tombstone  ///< a withdrawal leaves, and no more
};

std::string told(What what) {
    static constexpr std::array names{"enter", "leave", "leave with a tombstone", "withdrawal"};
    return names[static_cast<std::size_t>(what)];
}

struct World {
    Presence client = {};
    bool has_left = false;
    bool is_in = false;
    bool has_tombstone = false;
    /// How often each may still happen.
    int refusals = 1, losses = 2, ends = 2, misses = 1;
    std::vector<Errand> connection = {Errand{}};  ///< in the order in which they are carried out
    std::vector<What> lost = {};                  ///< copies, sorted
    std::vector<Answer> answers = {};             ///< sorted
    auto operator<=>(const World&) const = default;

    bool is_quiet() const {
        return has_left && connection.empty() && lost.empty() && answers.empty();
    }
};

template <class T>
void put(std::vector<T>& sorted, const T& value) {
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
}

template <class T>
T taken(std::vector<T>& values, std::size_t place) {
    const T value = values[place];
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(place));
    return value;
}

class EveryOrderOfOne {
public:
    explicit EveryOrderOfOne(Flaw flaw) : flaw_(flaw) {}

    /// How somebody comes to be in at the end who has left; empty when nobody does.
    std::string way_to_somebody() {
        World start;
        start.client.enters();
        add(std::move(start), "it enters");
        for (; !open_.empty(); open_.pop_front()) {
            const World& world = *open_.front();
            if (world.is_quiet() && world.is_in) return way_to(world);
            from_ = &world;
            go_on_from(world);
        }
        return {};
    }
    std::size_t states() const { return seen_.size(); }

private:
    void add(World world, const std::string& step) {
        const auto [place, is_new] = seen_.try_emplace(std::move(world), std::pair{from_, step});
        if (is_new) open_.push_back(&place->first);
    }
    std::string way_to(const World& world) const {
        const auto& [before, step] = seen_.at(world);
        return (before != nullptr ? way_to(*before) : "") + "  " + step + '\n';
    }

    void go_on_from(const World& world) {
        if (!world.has_left) add(after_leaving(world), "it leaves");
        if (world.misses > 0) add(after_missing(world), "a renewal misses it");
        if (!world.connection.empty()) go_on_by_connection(world);
        for (std::size_t i = 0; i < world.lost.size(); ++i) {
            World next = world;
            const What what = taken(next.lost, i);
            add(next, "a copy is lost for good: " + told(what));
            static_cast<void>(carry_out(next, what));
            add(std::move(next), "a lost copy is carried out: " + told(what));
        }
        for (std::size_t i = 0; i < world.answers.size(); ++i) {
            World next = world;
            const Answer answer = taken(next.answers, i);
            hear(next, answer);
            add(std::move(next), "an answer is heard: " + told(answer.request.what));
        }
    }

    void go_on_by_connection(const World& world) {
        World done = world;
        const Errand first = taken(done.connection, 0);
        const bool is_enter = first.what == What::enter;
        const World without = done;
        put(done.answers, {first, carry_out(done, first.what)});
        add(std::move(done), "carried out: " + told(first.what));
        if (is_enter && world.refusals > 0) {
            World refused = without;
            --refused.refusals;
            refused.connection.push_back(first);
            refused.connection.back().is_late = world.has_left;
            add(std::move(refused), "refused unheard: " + told(first.what));
        }
        if (is_enter) {
            World busy = without;
            put(busy.answers, {first, Answer::How::untouched});
            add(std::move(busy), "others are in");
        }
        if (world.losses > 0) add(after_a_loss(world), "the connection breaks");
        if (world.ends > 0) end_first(without, first);
    }

    /// The time of the first is up: it was sent, or never.
    void end_first(World world, const Errand& first) {
        --world.ends;
        World unsent = world;
        put(unsent.answers,
            {first, first.is_repeated ? Answer::How::unknown : Answer::How::untouched});
        add(std::move(unsent), "given up unsent: " + told(first.what));
        put(world.lost, first.what);
        put(world.answers, {first, Answer::How::unknown});
        add(std::move(world), "given up: " + told(first.what));
    }

    static World after_a_loss(World world) {
        --world.losses;
        for (Errand& one : world.connection) {
            put(world.lost, one.what);
            one.is_repeated = true;
        }
        return world;
    }

    static World after_missing(World world) {
        --world.misses;
        world.client.misses();
        if (world.client.enters_again()) {
            world.connection.push_back({.what = What::enter, .is_again = true});
        }
        return world;
    }

    static World after_leaving(World world) {
        using Leaving = Presence::Leaving;
        world.has_left = true;
        const auto how = world.client.leave(Presence::Calls::made);
        if (how == Leaving::sends) world.connection.push_back({What::leave});
        if (how == Leaving::sends_tombstone) {
            world.connection.push_back({What::leave_with_tombstone});
        }
        return world;
    }

    Answer::How carry_out(World& world, What what) const {
        if (what == What::enter) {
            if (world.has_tombstone) return Answer::How::untouched;
            world.is_in = true;
            return Answer::How::in;
        }
        world.is_in = false;
        const bool plants = what == What::leave_with_tombstone ||
                            (what == What::withdrawal && flaw_ != Flaw::plants_no_tombstone);
        world.has_tombstone |= plants;
        return Answer::How::done;
    }

    void hear(World& world, const Answer& answer) const {
        const bool failed =
            answer.how == Answer::How::unknown || answer.how == Answer::How::untouched;
        switch (answer.request.what) {
            case What::enter:
                return hear_of_enter(world, answer);
            case What::withdrawal:
                if (failed) return world.connection.push_back({What::withdrawal});
                return world.client.withdrew();
            default:
                break;
        }
        if (failed) return then(world, world.client.leave_failed());
        world.client.left();
    }

    static bool is_copied(const Answer& answer) {
        return answer.request.is_repeated || answer.how == Answer::How::unknown;
    }
    void hear_of_enter(World& world, const Answer& answer) const {
        const bool may_come = (is_copied(answer) && flaw_ != Flaw::forgets_copies) ||
                              (answer.request.is_late && flaw_ != Flaw::trusts_the_order);
        const auto how =
            answer.how == Answer::How::in ? Presence::Entered::in : Presence::Entered::out;
        const auto copies = may_come ? Presence::Copies::may_come : Presence::Copies::none;
        then(world, answer.request.is_again ? world.client.entered_again(how, copies)
                                            : world.client.entered(how, copies));
    }

    static void then(World& world, Presence::Then what) {
        if (what == Presence::Then::withdraw && world.client.begins_withdrawal()) {
            world.connection.push_back({What::withdrawal});
        }
    }

    const Flaw flaw_;
    /// Where each came from, and by what.
    std::map<World, std::pair<const World*, std::string>> seen_;
    const World* from_ = nullptr;
    std::deque<const World*> open_;
};

TEST(APresenceInEveryOrder, IsNoneInTheEndWhereItHasLeft) {
    EveryOrderOfOne exploration(Flaw::none);
    EXPECT_EQ(exploration.way_to_somebody(), "");
    EXPECT_GT(exploration.states(), 1000U);
    std::cout << exploration.states() << " states\n";
}

class AFlawedPresence : public testing::TestWithParam<Flaw> {};

TEST_P(AFlawedPresence, IsFoundOut) {
    const auto way = EveryOrderOfOne(GetParam()).way_to_somebody();
    EXPECT_NE(way, "");
    std::cout << way;
}

std::string name_of(const testing::TestParamInfo<Flaw>& flaw) {
    if (flaw.param == Flaw::trusts_the_order) return "ThatTrustsTheOrder";
    return flaw.param == Flaw::forgets_copies ? "ThatForgetsCopies" : "ThatPlantsNoTombstone";
}
INSTANTIATE_TEST_SUITE_P(Exploration, AFlawedPresence,
                         testing::Values(Flaw::trusts_the_order, Flaw::forgets_copies,
                                         Flaw::plants_no_tombstone),
                         name_of);

}  // namespace
}  // namespace holdfast::redlock
