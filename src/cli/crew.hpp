#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/contending.hpp"
#include "verify/report.hpp"

namespace holdfast::cli {

/// The processes that contend on a trial, and what befalls them. Throws NotWritten when one of them
/// could not write down what it did. Threads: none but one.
class Crew {
public:
    /// Each gets these orders, with a name and a seed of its own.
    Crew(ContendingOrders orders, std::size_t size);

    /// Stops one that runs; look_after() lets it go on when its time is over.
    void pause_one(std::chrono::nanoseconds time);
    /// Kills one, and hires another in its place.
    void kill_one();
    /// Lets go on whose pause is over, and notes who has ended by itself.
    void look_after();
    /// All are to end, those who stand still too.
    void dismiss();
    /// Whether they have, by then.
    bool have_ended(std::chrono::nanoseconds limit);
    bool is_empty() const { return members_.empty(); }
    /// Whoever has not ended by now is killed, and that is noted.
    void give_up();

    /// What they did, what befell them, and what was seen of them. When they are dismissed.
    void write_into(verify::Trial& trial) &&;

private:
    struct Member {
        ContendingProcess process;
        std::size_t pause = 0;  ///< its place in interferences_, and one; nought: it runs
        verify::Instant goes_on = 0;
    };

    void hire();
    void go_on(Member& member);
    void take_leave(const Member& member, int status);
    std::vector<Member*> running();

    ContendingOrders orders_;
    verify::Random random_;
    std::vector<Member> members_;
    std::vector<std::string> clients_;
    std::vector<verify::Interference> interferences_;
    std::vector<verify::Broken> seen_;
    verify::History history_;
};

}  // namespace holdfast::cli
