#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include <holdfast/client.hpp>

#include "verify/history.hpp"

namespace holdfast::verify {

using Random = std::mt19937_64;

/// What contenders may ask for.
struct Abilities {
    bool shares = true;
    bool permits = true;
    bool several = true;
    bool fences = true;
};

/// What is contended for, and how.
struct Manner {
    std::string prefix = {};  ///< of all names
    int mutexes = 6;          ///< two at least
    Abilities abilities = {};
    /// A visit's is between the two.
    std::chrono::milliseconds shortest_lease{0};
    std::chrono::milliseconds longest_lease{0};
    /// Mostly a hold is for a moment, so that the lock often changes hands; one in so many is
    /// longer, so that it is renewed, lost, or believed in while the servers fail.
    std::chrono::milliseconds moment{40};
    int long_one_in = 6;
    std::chrono::milliseconds longest_hold{5000};
};

constexpr std::uint32_t pool_capacity = 3;

/// The names of what is contended for: exclusively, by readers and writers, for permits.
std::vector<std::string> mutexes(const Manner& manner);
std::string table(const Manner& manner);
std::string pool(const Manner& manner);
/// All of them that the store can do.
std::vector<std::string> resources(const Manner& manner);

/// What holders do while they hold.
class Work {
public:
    virtual ~Work() = default;
    virtual void begin(const std::vector<Visit>& /*visits*/) {}
    virtual void finish(const std::vector<Visit>& /*visits*/) {}
};

/// Contends in all ways until it is stopped, and writes down each step. One thread of several.
class Contention {
public:
    /// `who`: CLIENT/THREAD/, unlike that of all others. What it is given must outlive it.
    Contention(const Client& client, Journal& journal, const Manner& manner, std::string who,
               std::uint64_t seed, Work& work);

    void run(const std::stop_token& stop);

private:
    struct Asking;

    void visit_one(const std::stop_token& stop);
    void visit_mutex(const std::stop_token& stop);
    void visit_table(const std::stop_token& stop);
    void visit_pool(const std::stop_token& stop);
    void visit_several(const std::stop_token& stop);
    template <class Lock>
    void visit_all_of(Lock& lock, std::vector<Visit> visits, const std::stop_token& stop);

    LockOptions options();
    Visit announced(const std::string& resource, std::uint64_t weight, std::uint64_t capacity);
    void visit(std::vector<Visit> visits, const Asking& asking, const std::stop_token& stop);
    Ending ask(std::vector<Visit>& visits, const Asking& asking, const std::stop_token& stop);
    Ending hold(std::vector<Visit>& visits, Hold& hold);
    Ending stay(std::vector<Visit>& visits, const Hold& hold);
    void note_trust(std::vector<Visit>& visits, Instant at);
    Instant some_time();
    void see_the_loss(const Hold& hold, Instant looked);
    std::uint64_t pick(std::uint64_t below) { return random_() % below; }

    const Client& client_;
    Journal& journal_;
    const Manner& manner_;
    Work& work_;
    Random random_;
    const std::string who_;
    std::uint64_t visits_ = 0;
    std::chrono::milliseconds lease_{0};  ///< of the present visit
    Instant interrupted_ = 0;             ///< when this thread last stood still for long
};

}  // namespace holdfast::verify
