#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/checkers.hpp"
#include "verify/contention.hpp"
#include "verify/history.hpp"

/// What a trial of a store has shown. Pure: a trial is what somebody else made, and wrote down.
namespace holdfast::verify {

/// A client process that was stopped and continued, or that was killed.
struct Interference {
    std::string client;
    Instant begin = 0;
    Instant end = 0;  ///< of a pause
    bool killed = false;
};

/// One of the promises that every hold makes, as docs/verify.md names it.
enum class Promise : std::uint8_t {
    exclusion,  ///< no more weight than there is, by what each client trusted
    fences,     ///< rise, and none is given twice
    ends,       ///< every wait does
    told,       ///< every loss is, in time
    freed,      ///< what nobody holds is had in bounded time
    emptied,    ///< nobody is left in line
    works,      ///< no client fails but by a store that does not answer
};
std::string_view name_of(Promise promise);

struct Broken {
    Promise promise;
    Violation violation;
};

/// What was done, and what was seen.
struct Trial {
    std::string store;  ///< without its password
    std::uint64_t seed = 0;
    Instant begin = 0;
    Instant end = 0;  ///< when the clients were told to stop
    Manner manner;
    std::vector<std::string> clients;
    std::vector<Interference> interferences;
    History history;
    /// What those saw who looked on: a client that ended by itself, a resource that was not free.
    std::vector<Broken> seen;
};

/// What was not judged, or is no fault, and why.
struct Exemption {
    std::string what;
    std::string why;
};

/// Times, from the shortest up.
struct Times {
    std::size_t count = 0;
    Instant p50 = 0;
    Instant p99 = 0;
};
Times times_of(std::vector<Instant> times);

struct Figures {
    std::size_t asked = 0;
    std::size_t holds = 0;
    std::size_t busy = 0;    ///< tries that found it held
    std::size_t errors = 0;  ///< the store did not answer
    std::size_t lost = 0;
    std::size_t lost_standing_still = 0;  ///< of those, in a client that was stopped
    std::size_t killed = 0;               ///< holds of clients that were killed
    Times wait;                           ///< from asking to holding, of those who would wait
    Times hand_off;  ///< from one's release to the next one's hold, who has waited for it
};
Figures figures_of(const Trial& trial);

struct Report {
    Trial trial;
    Figures figures;
    std::vector<Broken> broken;
    std::vector<Exemption> exempt;

    bool holds() const { return broken.empty(); }
};

/// So long may nobody hold what somebody waits for.
Instant idle_at_most(const Manner& manner);

/// Judges it. Beside what follows from the trial, `exempt` are those that its maker knows of.
Report report_on(Trial trial, std::vector<Exemption> exempt);

}  // namespace holdfast::verify
