#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "port/store.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// What can be wrong with a simulated system on purpose: each must be found out.
enum class Fault {
    none,
    ignores_capacity,
    repeats_a_fence,
    keeps_ghosts,            ///< never ends a lease
    renews_what_is_gone,     ///< answers a renewal of a contender that is not there
    counts_from_the_answer,  ///< so that a slow answer makes a hold too long
    tells_nobody,            ///< the alarm that tells of a loss sleeps
    loses_sight_of_waiters,  ///< never answers anybody who waits
};

/// The memory store on a clock of its own, and a book of whom it admitted: fences must rise in the
/// order of admission, whatever happens to the answers.
class Server {
public:
    Server(World& world, Fault fault);

    const std::shared_ptr<Store>& store() const { return store_; }
    /// It forgets everything but goes on.
    void flush();
    void set_wall_clock(std::chrono::microseconds forward);

    /// In which life of the server this fence was given.
    int life_of(const std::string& resource, std::uint64_t fence) const;
    /// That this contender was admitted with; 0: it never was.
    std::uint64_t last_fence_of(const Nonce& nonce) const;
    int life() const { return life_; }
    /// When it last forgot everything.
    Time flushed() const { return flushed_; }

    /// What an answer says is written into the book.
    void note(const std::vector<Entry>& entries);
    void note(const Ticket& ticket, Standing& standing);
    void note(const Standing&) {}

    Fault fault() const { return fault_; }
    /// The first thing that went wrong.
    const std::string& violation() const { return violation_; }

private:
    World& world_;
    const Fault fault_;
    MachineClock clock_;
    std::shared_ptr<Store> store_;
    int life_ = 0;
    Time flushed_{0};
    std::map<Nonce, std::uint64_t> fences_;
    std::map<std::pair<std::string, std::uint64_t>, int> lives_;
    std::map<std::string, std::uint64_t> last_fence_;
    std::uint64_t highest_fence_ = 0;
    std::string violation_;
};

}  // namespace holdfast::simulation
