#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "play/server_clock.hpp"
#include "simulation/random.hpp"

namespace holdfast::test {

/// What of the model's rules a layout of others does not have.
struct Rules {
    /// Who waits is known to the server: it stands in line, is told of its turn, and its lease ends
    /// by the server's clock. Else it waits in its own process alone, and nothing can conflict.
    bool in_line = true;
    /// Leases of those who share a place or a resource end one by one.
    bool apart = true;
    /// A waiter that asked for re-entry goes on waiting when another contender of its owner is let
    /// in. Else it joins that hold with its next renewal.
    bool joins_at_entry_alone = true;
    /// When a lease merely ends, whoever finds that tells the next one.
    bool tells_of_ends = true;
    /// How far the clock goes on with each request: that of a statement in MariaDB goes on by a
    /// microsecond with each of them, whatever the server's does.
    std::chrono::microseconds pace{0};
};

/// What is wrong with a store on purpose.
enum class Fault { silent_offer, repeated_fence, kept_lease, lost_weight };

/// A line of a script, and what stands there instead when a fault is planted.
struct Change {
    std::string_view from, to;

    /// Whether the text has that line, and has changed.
    bool make_in(std::string& text) const {
        bool found = false;
        for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
            text.replace(at, from.size(), to);
            found = true;
        }
        return found;
    }
};

/// A server with a clock of its own, and a scripted store in it.
class PlaySite {
public:
    virtual ~PlaySite() = default;

    ServerClock& clock() { return clock_; }
    virtual std::string url() const = 0;
    virtual Rules rules() const { return {}; }

    /// Deletes by hand what this resource is like: the key or the row that all its others hang on.
    virtual void forget(const std::string& resource) = 0;
    /// Deletes by hand something that is kept of this resource: a key, a row.
    virtual void damage(const std::string& resource, simulation::Random& random) = 0;
    /// What does not add up in what is kept of it, in words; nothing when all does.
    virtual std::string wrong_in_books(const std::string& resource) const = 0;

    /// From now on the store at url() has this fault: lines of its scripts are replaced.
    virtual void plant(Fault fault) = 0;

protected:
    ServerClock clock_;
};

struct StoreInPlay {
    std::string name;
    std::unique_ptr<PlaySite> (*make)();
    std::vector<Fault> faults;  ///< that can be planted
    int plays = 0;              ///< in one run, of a hundred steps or so
};

inline void PrintTo(const StoreInPlay& store, std::ostream* out) {
    *out << store.name;
}

std::unique_ptr<PlaySite> ours_on_redis();
std::unique_ptr<PlaySite> plain_on_redis();
std::unique_ptr<PlaySite> redisson_on_redis();
std::unique_ptr<PlaySite> ours_on_postgres();
std::unique_ptr<PlaySite> shedlock_on_postgres();
std::unique_ptr<PlaySite> ours_on_mysql();
std::unique_ptr<PlaySite> shedlock_on_mysql();

}  // namespace holdfast::test
