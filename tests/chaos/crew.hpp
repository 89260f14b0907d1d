#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "chaos/site.hpp"
#include "chaos/worker.hpp"
#include "support/child.hpp"

namespace holdfast::chaos {

/// The processes that contend. One that is killed is followed by another.
class Crew {
public:
    Crew(WorkerOrders orders, std::size_t size, Random& random);

    /// What may befall them.
    std::vector<Fault> faults();
    /// All of them end, and well, within a generous limit: whoever does not is named.
    std::vector<std::string> dismiss();
    /// By their pids.
    const std::vector<std::string>& killed() const { return killed_; }

private:
    test::Child hire(Random& random);

    const WorkerOrders orders_;
    std::vector<test::Child> workers_;
    std::vector<std::string> killed_;
};

}  // namespace holdfast::chaos
