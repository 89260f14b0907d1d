#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "core/pursuit.hpp"
#include "simulation/server.hpp"
#include "simulation/simulated_store.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// What came of a schedule, so that a test can see that the interesting things did happen.
struct Verdict {
    std::string violation;  ///< empty when all promises were kept
    std::size_t events = 0;
    std::size_t admitted = 0;
    std::size_t busy = 0;
    std::size_t stopped = 0;
    std::size_t failed = 0;
    std::size_t lost = 0;
    std::size_t crashes = 0;
    std::size_t pauses = 0;
    std::size_t cuts = 0;
    std::size_t flushes = 0;
};

/// One seed's story: processes that contend for a few resources on one server, in bad weather for
/// a while and in good weather at the end. After every event the promises are checked:
/// - the weight of all holds that their owners believe in fits the capacity;
/// - fences rise in the order of admission (the server's book);
/// - whoever has lost a hold has been told, unless it is paused;
/// - an acquisition ends soon after its time is up, and every one ends in good weather;
/// - when all is done, nobody is left in line.
class Schedule {
public:
    Schedule(std::uint64_t seed, Fault fault, std::ostream* trace);
    ~Schedule();
    Verdict run();

private:
    struct Resource {
        std::string name;
        std::uint64_t capacity = all;
        Fairness fairness = Fairness::fifo;
    };
    struct Process {
        std::shared_ptr<MachineClock> clock;
        std::shared_ptr<SimulatedStore> store;
        std::shared_ptr<core::Context> context;
    };
    /// An acquisition, from its start until its hold is given back.
    struct Wish {
        Who who = 0;
        std::vector<Contender> contenders{};
        std::optional<Time> patience{};
        Time started{};
        Time hold_for{};
        std::stop_source stop{};
        bool ended = false;
        std::shared_ptr<core::HoldState> hold{};
        bool counted_lost = false;
    };

    void make_weather();
    void make_resources();
    void make_process(Who who);
    void plan_wishes();
    void plan_trouble();
    void plan_trouble_of(Who who);
    void calm_down();

    std::shared_ptr<Wish> make_wish(Who who);
    std::vector<Contender> choose_contenders();
    Contender contender(const Resource& resource, std::uint64_t weight);
    void start(const std::shared_ptr<Wish>& wish);
    void end(const std::shared_ptr<Wish>& wish, core::Outcome outcome);
    void release(Wish& wish);

    bool step();
    void check();
    void check_capacity();
    void check_losses_are_told();
    void check_patience();
    bool all_done() const;
    void finish();
    void check_nobody_is_left();
    void dismantle();
    void violated(const std::string& what);

    World world_;
    Random random_;
    Weather weather_;
    Server server_;
    std::vector<Resource> resources_;
    std::vector<Process> processes_;
    std::vector<std::shared_ptr<Wish>> wishes_;
    std::uint64_t nonces_ = 0;
    bool enters_together_ = true;
    Verdict verdict_;
};

}  // namespace holdfast::simulation
