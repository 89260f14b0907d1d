#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "faults/redis_faults.hpp"
#include "stores/memory/memory_store.hpp"

/// The same requests to the reference store and to Redis have the same answers.
namespace holdfast::test {
namespace {

using State = Standing::State;
using Clock = std::chrono::steady_clock;

const char* name_of(State state) {
    constexpr const char* names[] = {"waiting", "offered", "admitted", "gone"};
    return names[static_cast<std::size_t>(state)];
}

template <class T, class Show>
std::string in_words(const Result<T>& result, Show show) {
    if (result.ok()) return show(result.value());
    return "failed with " + std::to_string(static_cast<int>(result.failure().code)) + " (" +
           (result.failure().effect == Effect::none ? "none" : "unknown") + ")";
}

std::string in_words(const Result<Standing>& result) {
    return in_words(result, [](const Standing& standing) { return name_of(standing.state); });
}

/// A store, and the tickets that it gave.
class Side {
public:
    explicit Side(std::shared_ptr<Store> store) : store_(std::move(store)) {}

    std::string enter(const std::vector<Contender>& contenders) {
        const auto result = store_->enter(contenders).get();
        if (result.ok()) {
            for (const Entry& entry : result.value()) tickets_[entry.ticket.nonce] = entry.ticket;
        }
        return in_words(result, [](const std::vector<Entry>& entries) {
            std::string words;
            for (const Entry& entry : entries) words += name_of(entry.standing.state) + space;
            return words;
        });
    }
    std::string standing(const Contender& one) {
        return in_words(store_->standing(ticket_of(one)).get());
    }
    std::string renew(const std::vector<Contender>& contenders) {
        std::vector<Ticket> tickets;
        for (const Contender& one : contenders) tickets.push_back(ticket_of(one));
        return in_words(store_->renew(tickets, long_lease).get(),
                        [](const std::vector<Standing>& standings) {
                            std::string words;
                            for (const auto& one : standings) words += name_of(one.state) + space;
                            return words;
                        });
    }
    std::string leave(const Contender& one) {
        return in_words(store_->leave(ticket_of(one)).get());
    }
    /// As after an enter that was never answered.
    std::string leave_unanswered(const Contender& one) {
        return in_words(store_->leave({one.resource, one.nonce, {}}).get());
    }
    std::string lines(const std::string& prefix) {
        return in_words(store_->inspect(prefix).get(), [](const std::vector<Line>& lines) {
            std::string words;
            for (const Line& line : lines) words += in_words_of(line);
            return words;
        });
    }

private:
    inline static const std::string space = " ";

    Ticket ticket_of(const Contender& one) {
        const auto found = tickets_.find(one.nonce);
        return found == tickets_.end() ? Ticket{one.resource, one.nonce, {}} : found->second;
    }
    static std::string in_words_of(const Line& line) {
        std::set<std::string> holders;
        for (const Place& place : line.holders) {
            holders.insert(place.owner + "*" + std::to_string(place.weight));
        }
        std::string words = "[" + line.resource + ": ";
        for (const auto& holder : holders) words += holder + space;
        words += "before ";
        for (const Place& place : line.waiters) words += place.owner + space;
        return words + "] ";
    }

    std::shared_ptr<Store> store_;
    std::map<Nonce, Ticket> tickets_;
};

/// A random sequence of requests to two resources.
class Play {
public:
    Play(std::uint64_t seed, Side& reference, Side& tested, const std::string& folder)
        : random_(seed), reference_(reference), tested_(tested), folder_(folder) {
        for (auto& terms : terms_) {
            terms.capacity = chance(2) ? all : 3;
            terms.fairness = chance(3) ? Fairness::barging : Fairness::fifo;
        }
    }

    /// What differed, if anything.
    std::string run(int steps) {
        for (int i = 0; i < steps && difference_.empty(); ++i) step();
        if (difference_.empty()) leave_all();
        return difference_;
    }

private:
    struct Terms {
        std::uint64_t capacity;
        Fairness fairness;
    };

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool chance(std::uint64_t of) { return below(of) == 0; }

    Contender newcomer(std::size_t resource) {
        const Terms& terms = terms_[resource];
        Contender one{.resource = folder_ + "/" + std::to_string(resource),
                      .nonce = {},
                      .owner = "owner" + std::to_string(below(4)),
                      .weight = terms.capacity == all ? (chance(2) ? all : 1) : 1 + below(3),
                      .capacity = terms.capacity,
                      .fairness = terms.fairness,
                      .patience = chance(4) ? Patience::none : Patience::wait,
                      .lease = long_lease,
                      .reenter = chance(4)};
        // Whom of several one joins or inherits from is anybody's choice. In memory it is the
        // lowest nonce, in Redis the lowest ticket: let that be the same.
        one.nonce.bytes[0] = static_cast<std::byte>(known_.size() >> 8U);
        one.nonce.bytes[1] = static_cast<std::byte>(known_.size());
        one.nonce.bytes[2] = static_cast<std::byte>(random_());
        if (chance(12)) one.capacity = one.capacity == all ? 3 : all;
        if (one.capacity == 3) one.weight = std::min<std::uint64_t>(one.weight, 3);
        if (chance(12)) {
            one.fairness = one.fairness == Fairness::fifo ? Fairness::barging : Fairness::fifo;
        }
        known_.push_back(one);
        return one;
    }
    /// Mostly one of the last: the others are gone.
    Contender somebody() {
        const std::size_t last = std::min<std::size_t>(known_.size(), 10);
        return known_[known_.size() - 1 - below(last)];
    }

    void step() {
        if (known_.empty() || chance(4)) return enter({newcomer(below(2))});
        switch (below(8)) {
            case 0: {
                auto first = newcomer(0);
                auto second = newcomer(1);
                second.patience = first.patience;
                known_.back() = second;
                return enter({first, second});
            }
            case 1:
                return enter_again(somebody());
            case 2:
                return compare("standing", [one = somebody()](Side& s) { return s.standing(one); });
            case 3:
                return renew();
            case 4:
            case 5:
                return compare("leave", [one = somebody()](Side& s) { return s.leave(one); });
            case 6:
                return chance(4) ? leave_unanswered(somebody()) : compare_all();
            default:
                return compare("lines", [this](Side& s) { return s.lines(folder_); });
        }
    }
    void enter(const std::vector<Contender>& contenders) {
        compare("enter", [&](Side& side) { return side.enter(contenders); });
    }
    /// One that is gone would get a new ticket; but not one that was taken back.
    void enter_again(const Contender& one) {
        compare("standing", [&](Side& side) { return side.standing(one); });
        if (last_ != "gone" || taken_back_.contains(one.nonce)) enter({one});
    }
    void leave_unanswered(const Contender& one) {
        taken_back_.insert(one.nonce);
        compare("leave unanswered", [&](Side& side) { return side.leave_unanswered(one); });
    }
    void renew() {
        std::vector<Contender> some{somebody()};
        if (chance(2)) some.push_back(somebody());
        if (some.size() == 2 && some[0].nonce == some[1].nonce) some.pop_back();
        compare("renew", [&](Side& side) { return side.renew(some); });
    }
    void compare_all() {
        const std::size_t last = std::min<std::size_t>(known_.size(), 10);
        for (std::size_t i = known_.size() - last; i < known_.size(); ++i) {
            compare("standing", [&](Side& side) { return side.standing(known_[i]); });
        }
    }
    void leave_all() {
        for (const Contender& one : known_) {
            compare("last leave", [&](Side& side) { return side.leave(one); });
        }
        compare("last lines", [&](Side& side) { return side.lines(folder_); });
    }

    template <class Verb>
    void compare(const std::string& what, Verb verb) {
        ++steps_;
        const std::string expected = last_ = verb(reference_);
        const std::string found = verb(tested_);
        if (expected == found || !difference_.empty()) return;
        difference_ = "request " + std::to_string(steps_) + ", " + what + ": expected " + expected +
                      ", found " + found;
    }

    std::mt19937_64 random_;
    Side& reference_;
    Side& tested_;
    const std::string folder_;
    std::array<Terms, 2> terms_{};
    std::vector<Contender> known_;
    std::set<Nonce> taken_back_;
    std::string last_;
    int steps_ = 0;
    std::string difference_;
};

class RedisRandom : public RedisFaults {};

TEST_F(RedisRandom, TheSameRequestsHaveTheSameAnswersAsInMemory) {
    constexpr int plays = 60;
    constexpr int steps = 40;
    const char* const given = std::getenv("HOLDFAST_SEED");
    const std::uint64_t first = given != nullptr ? std::stoull(given) : std::random_device{}();
    for (std::uint64_t seed = first; seed < first + (given != nullptr ? 1 : plays); ++seed) {
        for (;;) {
            server_.flush();
            Side memory(memory::open_memory(std::string()));
            Side redis(open_store(server_.url()).store);
            const auto start = Clock::now();
            const auto difference = Play(seed, memory, redis, "play").run(steps);
            // Past the claim time of an offer, what differs is when each of them looked.
            if (Clock::now() - start > 800ms) continue;
            EXPECT_EQ(difference, "") << "HOLDFAST_SEED=" << seed << " repeats it";
            if (difference.empty()) expect_nobody_left();
            break;
        }
        if (HasFailure()) break;
    }
}

}  // namespace
}  // namespace holdfast::test
