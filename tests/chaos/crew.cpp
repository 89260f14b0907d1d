#include "chaos/crew.hpp"

#include <csignal>
#include <utility>

namespace holdfast::chaos {

using namespace std::chrono_literals;

Crew::Crew(WorkerOrders orders, std::size_t size, Random& random) : orders_(std::move(orders)) {
    while (workers_.size() < size) workers_.push_back(hire(random));
}

test::Child Crew::hire(Random& random) {
    const Abilities& can = orders_.abilities;
    const std::string abilities = std::string(can.shares ? "s" : "") + (can.permits ? "p" : "") +
                                  (can.several ? "m" : "") + (can.fences ? "f" : "") + "x";
    return test::Child({test::this_program(), worker_flag, orders_.url, orders_.journals,
                        orders_.sink, std::to_string(random()), abilities,
                        std::to_string(orders_.shortest_lease.count()), orders_.broken});
}

std::vector<Fault> Crew::faults() {
    return {{"a client stands still",
             [this](Random& random) {
                 const test::Child& one = workers_.at(random() % workers_.size());
                 // Not stop(): of one that stands still already there is nothing to wait for.
                 one.signal(SIGSTOP);
                 return [&one] { one.go_on(); };
             }},
            {"a client is killed", [this](Random& random) {
                 test::Child& one = workers_.at(random() % workers_.size());
                 killed_.push_back(std::to_string(one.pid()));
                 one.kill();
                 one = hire(random);
                 return [] {};
             }}};
}

std::vector<std::string> Crew::dismiss() {
    constexpr auto limit = 60s;
    std::vector<std::string> stuck;
    for (const test::Child& one : workers_) one.say("stop");
    for (test::Child& one : workers_) {
        const std::string pid = std::to_string(one.pid());
        const auto status = one.ended(limit);
        if (status != 0) {
            stuck.push_back(pid + (status ? " ended with status " + std::to_string(*status)
                                          : " did not end within a minute"));
        }
    }
    return stuck;
}

}  // namespace holdfast::chaos
