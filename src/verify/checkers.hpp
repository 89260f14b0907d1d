#pragma once

#include <span>
#include <string>
#include <vector>

#include "verify/history.hpp"

/// What is wrong with a history. Each is a pure function, tested with histories that are known to
/// be bad (tests/unit/verify).
namespace holdfast::verify {

struct Violation {
    Instant at = 0;
    std::string what;
    /// Whoever was given a share beside somebody else has a larger fence: what the lock guards can
    /// refuse the other one.
    bool fenced = false;
    /// Whoever was overtaken learned of it within its lease.
    bool told_in_time = true;
    std::string resource = {};
    std::vector<std::string> who = {};  ///< the visits that it is about
};

/// More weight than there is, trusted by its holders at one moment. Mutex, read-write lock and
/// permits alike.
std::vector<Violation> overlaps(std::span<const Visit> visits);

/// A fence that is not larger than that of a hold which was given before this one was asked for.
std::vector<Violation> fences_that_fell(std::span<const Visit> visits);

/// Two holds that cannot be told apart: one fence, given twice.
std::vector<Violation> fences_given_twice(std::span<const Visit> visits);

/// Who asked, and never heard anything, though its process went on until the end.
std::vector<Violation> waits_without_end(std::span<const Visit> visits,
                                         std::span<const std::string> killed);

/// Somebody waited for so long, all the time, for what nobody held.
std::vector<Violation> idle_while_waited_for(std::span<const Visit> visits, Instant at_most);

/// Errors of another kind than those that a fault may cause.
std::vector<Violation> unexpected_failures(std::span<const Failure> failures,
                                           std::span<const int> expected);

/// A row of the table of faults in a store's page by which two may hold for a while.
struct Excused {
    std::string row = {};      ///< empty: nothing excuses that two hold
    bool told_apart = true;    ///< by their fences
    bool told_in_time = true;  ///< whoever is overtaken learns of it within its lease

    bool excuses() const { return !row.empty(); }
};

/// A time in which, by a fault and what the store's page says of it, more than one may hold.
struct Excuse {
    Instant begin = 0;
    Instant end = 0;
    Excused why;
};
/// Those that no excuse covers: each is for its time alone and, unless it says otherwise, for holds
/// that their fences tell apart and whose earlier holders were told in time.
std::vector<Violation> unexcused(std::span<const Violation> found, std::span<const Excuse> excuses);

}  // namespace holdfast::verify
