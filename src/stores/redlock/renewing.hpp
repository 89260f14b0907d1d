#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "port/pending.hpp"
#include "stores/redlock/candidates.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/redlock/entering.hpp"
#include "stores/redlock/renewal.hpp"
#include "stores/redlock/waiting.hpp"

namespace holdfast::inline v0::redlock {

/// How the candidates of one client stay in, or in wait: a holder asks all nodes, and one that
/// waits makes a try.
/// Threads: all members may be called from any thread.
class Renewing {
public:
    Renewing(Candidates& candidates, Waiting& waiting, Entering& entering)
        : candidates_(candidates), waiting_(waiting), entering_(entering) {}

    Pending<std::vector<Standing>> renew(const Desk& desk, std::span<const Ticket> tickets,
                                         const Extension& extension);

private:
    using Known = Entering::Known;

    /// One of those that are renewed together.
    struct Part {
        std::shared_ptr<Renewal> renewal;
        std::size_t which;
        void take(const Result<Standing>& result) const { renewal->take(which, result); }
        void stood(const Standing& standing) const { renewal->stood(which, standing); }
    };

    void renew(const Desk& desk, const Ticket& ticket, const Extension& extension,
               const Part& part);
    void renew_hold(const Desk& desk, const Known& candidate, const Extension& extension,
                    const Part& part);
    Result<Standing> renewed(const Desk& desk, Candidate& candidate, Decision decision,
                             Moment sent);

    Candidates& candidates_;
    Waiting& waiting_;
    Entering& entering_;
};

}  // namespace holdfast::inline v0::redlock
