#pragma once

#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "port/pending.hpp"
#include "stores/redlock/candidates.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/redlock/waiting.hpp"

namespace holdfast::inline v0::redlock {

/// Nonces of tries after the first, and what parts rivals. Threads: any.
class Chance {
public:
    Chance();
    std::uint64_t number();
    Nonce nonce();

private:
    std::mutex mutex_;
    std::mt19937_64 generator_;
    Nonce nonce_;
};

/// How the candidates of one client come in: by one try after the other, and never two of one at a
/// time. What is under way ends with the store.
/// Threads: all members may be called from any thread.
class Entering {
public:
    using Known = std::shared_ptr<Candidate>;
    using EntryFlight = Flight<std::vector<Entry>>;

    Entering(Candidates& candidates, Waiting& waiting)
        : candidates_(candidates), waiting_(waiting) {}

    /// Until it is known whether it holds or waits; one that does not wait tries again while rivals
    /// divide the nodes.
    void enter(const Desk& desk, const Known& candidate, Patience patience,
               const std::shared_ptr<EntryFlight>& flight) {
        enter(desk, {candidate, patience, flight});
    }
    /// One try. Whoever asks while one is under way is told how that ends.
    void try_once(const Desk& desk, const Known& candidate, Candidate::Told told);
    /// Of one that holds; of another one: gone.
    static Standing standing_of(const Candidate& candidate);

private:
    struct Entrance {
        Known candidate;
        Patience patience;
        std::shared_ptr<EntryFlight> flight;
        unsigned tries = 1;
    };

    void enter(const Desk& desk, const Entrance& entrance);
    void entered(const Desk& desk, Entrance entrance, const Result<Standing>& result);
    bool may_try_again(const Entrance& entrance) const;
    /// Whether a try that proposed too much is followed by another one.
    enum class Corrects : std::uint8_t { yes, no };
    std::shared_ptr<Candidacy> another_try(const Desk& desk, Candidate& candidate);
    void go(const Desk& desk, const Known& candidate, Candidacy& now, Corrects corrects);
    void tried(const Desk& desk, const Known& candidate, Candidacy::Outcome outcome,
               Corrects corrects);
    Result<Standing> standing_after(Candidate& candidate, Candidacy::Outcome& outcome);

    Candidates& candidates_;
    Waiting& waiting_;
    Chance chance_;
};

}  // namespace holdfast::inline v0::redlock
