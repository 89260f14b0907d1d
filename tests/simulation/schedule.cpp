#include "simulation/schedule.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace holdfast::simulation {

using namespace std::chrono_literals;
using End = core::Acquisition::End;

namespace {

constexpr Time trouble_time = 12s;
constexpr std::chrono::milliseconds longest_lease{1500};
constexpr Time longest_hold = 5s;
constexpr Time longest_patience = 4s;
constexpr Time latest_landing = 8s;

}  // namespace

Schedule::Schedule(std::uint64_t seed, Fault fault, std::ostream* trace)
    : random_(seed), server_(world_, fault) {
    if (trace != nullptr) {
        world_.listener = [trace](Time when, const std::string& what) {
            *trace << std::chrono::duration<double, std::milli>(when).count() << " ms: " << what
                   << '\n';
        };
    }
    enters_together_ = random_.chance(700);
    make_weather();
    make_resources();
    const auto processes = static_cast<Who>(random_.between(2U, 4U));
    for (Who who = 0; who < processes; ++who) make_process(who);
    plan_wishes();
    plan_trouble();
}

Schedule::~Schedule() {
    dismantle();
}

void Schedule::make_weather() {
    static constexpr unsigned roughness[] = {0, 10, 50, 200};
    const auto draw = [&] { return roughness[random_.below(4)]; };
    weather_ = {.request_lost = draw(),
                .reply_lost = draw(),
                .late = draw(),
                .repeated = draw(),
                .refused = draw(),
                .push_lost = draw() * 2,
                .slowest = random_.chance(500) ? Time{2ms} : Time{140ms},
                .latest = latest_landing};
}

void Schedule::make_resources() {
    const auto count = random_.between(1U, 3U);
    for (std::uint64_t i = 0; i < count; ++i) {
        const bool permits = random_.chance(300);
        resources_.push_back(
            {.name = std::string(1, static_cast<char>('a' + i)),
             .capacity = permits ? random_.between(2U, 5U) : all,
             .fairness = random_.chance(300) ? Fairness::barging : Fairness::fifo});
    }
}

void Schedule::make_process(Who who) {
    Process process;
    const auto drift = static_cast<std::int64_t>(random_.below(40'001)) - 20'000;
    process.clock =
        std::make_shared<MachineClock>(world_, random_.between(Time{10s}, Time{1000h}), drift);
    process.store =
        std::make_shared<SimulatedStore>(world_, server_, *process.clock, random_, weather_, who);
    process.store->enters_together = enters_together_;
    auto telling = std::make_unique<SimulatedAlarm>(world_, *process.clock, who);
    telling->asleep = server_.fault() == Fault::tells_nobody;
    process.context = core::Context::make(
        {.store = process.store,
         .clock = process.clock,
         .renewing = std::make_unique<SimulatedAlarm>(world_, *process.clock, who),
         .telling = std::move(telling),
         .options = {.owner = "process " + std::to_string(who)},
         .goodbye = 0ms});
    processes_.push_back(std::move(process));
}

void Schedule::plan_wishes() {
    const auto count = random_.between(3U, 16U);
    // Sometimes all at once, sometimes one after the other.
    const Time spread = random_.chance(500) ? Time{500ms} : Time{10s};
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto who = static_cast<Who>(random_.below(processes_.size()));
        const Time when = random_.between(Time{0}, spread);
        auto wish = make_wish(who);
        world_.at(when, who, [this, wish] { start(wish); });
        if (random_.chance(150)) {
            const Time stop = when + random_.between(Time{0}, Time{2s});
            world_.at(stop, who, [wish] { wish->stop.request_stop(); });
        }
    }
}

void Schedule::plan_trouble() {
    for (Who who = 0; std::cmp_less(who, processes_.size()); ++who) plan_trouble_of(who);
    if (random_.chance(200)) {
        world_.at(random_.between(Time{0}, trouble_time), the_world, [this] {
            ++verdict_.flushes;
            server_.flush();
        });
    }
    if (random_.chance(200)) {
        const auto hours = static_cast<std::int64_t>(random_.below(40)) - 20;
        world_.at(random_.between(Time{0}, trouble_time), the_world,
                  [this, hours] { server_.set_wall_clock(std::chrono::hours{hours}); });
    }
    world_.at(trouble_time, the_world, [this] { calm_down(); });
}

void Schedule::plan_trouble_of(Who who) {
    if (random_.chance(120)) {
        world_.at(random_.between(Time{0}, trouble_time), the_world, [this, who] {
            world_.trace([who] { return std::to_string(who) + " crashes"; });
            ++verdict_.crashes;
            world_.crash(who);
        });
    }
    if (random_.chance(300)) {
        const Time until = random_.between(Time{1ms}, Time{6s});
        world_.at(random_.between(Time{0}, trouble_time), the_world, [this, who, until] {
            world_.trace([who] { return std::to_string(who) + " is paused"; });
            ++verdict_.pauses;
            world_.pause(who, world_.now() + until);
        });
    }
    if (random_.chance(300)) {
        const Time until = random_.between(Time{1ms}, Time{6s});
        world_.at(random_.between(Time{0}, trouble_time), the_world, [this, who, until] {
            world_.trace([who] { return std::to_string(who) + " is cut off"; });
            ++verdict_.cuts;
            processes_[static_cast<std::size_t>(who)].store->cut_off(world_.now() + until);
        });
    }
}

void Schedule::calm_down() {
    world_.trace([] { return "the weather turns fair"; });
    const Time slowest = weather_.slowest;
    weather_ = Weather{.slowest = slowest};
}

std::shared_ptr<Schedule::Wish> Schedule::make_wish(Who who) {
    auto wish = std::make_shared<Wish>();
    wish->who = who;
    wish->contenders = choose_contenders();
    const auto kind = random_.below(10);
    if (kind == 0) {
        for (Contender& one : wish->contenders) one.patience = Patience::none;
    } else if (kind < 6) {
        wish->patience = random_.between(Time{1ms}, longest_patience);
    }
    wish->hold_for = random_.chance(700) ? random_.between(Time{0}, Time{200ms})
                                         : random_.between(Time{0}, longest_hold);
    wishes_.push_back(wish);
    return wish;
}

std::vector<Contender> Schedule::choose_contenders() {
    const auto lease = std::chrono::milliseconds{random_.between(400U, 1500U)};
    std::vector<Contender> chosen;
    for (const Resource& resource : resources_) {
        if (resource.capacity == all && random_.chance(700)) {
            chosen.push_back(contender(resource, all));
        }
    }
    if (chosen.size() < 2 || random_.chance(600)) {
        const Resource& resource = resources_[random_.below(resources_.size())];
        std::uint64_t weight = random_.chance(600) ? all : 1;
        if (resource.capacity != all) weight = random_.between(1U, resource.capacity);
        chosen.assign(1, contender(resource, weight));
    }
    for (Contender& one : chosen) one.lease = lease;
    return chosen;
}

Contender Schedule::contender(const Resource& resource, std::uint64_t weight) {
    Contender made{.resource = resource.name,
                   .nonce = {},
                   .owner = "somebody",
                   .weight = weight,
                   .capacity = resource.capacity,
                   .fairness = resource.fairness};
    // Of the seed alone, for the store orders holders by it.
    const std::uint64_t parts[] = {random_.next(), ++nonces_};
    std::memcpy(made.nonce.bytes.data(), parts, sizeof parts);
    return made;
}

void Schedule::start(const std::shared_ptr<Wish>& wish) {
    wish->started = world_.now();
    world_.trace([&] { return std::to_string(wish->who) + " starts an acquisition"; });
    core::acquire_async(processes_[static_cast<std::size_t>(wish->who)].context,
                        {.contenders = wish->contenders,
                         .patience = wish->patience,
                         .stop = wish->stop.get_token()},
                        [this, wish](core::Outcome outcome) { end(wish, std::move(outcome)); });
}

void Schedule::end(const std::shared_ptr<Wish>& wish, core::Outcome outcome) {
    if (wish->ended) violated("an acquisition ended twice");
    wish->ended = true;
    world_.trace([&] {
        static const char* const names[] = {"?",       "admitted", "busy",
                                            "stopped", "failed",   "put out"};
        return std::to_string(wish->who) + " " + wish->contenders.front().resource + ": " +
               names[static_cast<int>(outcome.end)] +
               (outcome.failure ? ": " + outcome.failure->sentence : "");
    });
    switch (outcome.end) {
        case End::admitted:
            ++verdict_.admitted;
            break;
        case End::busy:
            ++verdict_.busy;
            break;
        case End::stopped:
            ++verdict_.stopped;
            break;
        case End::failed:
            ++verdict_.failed;
            break;
        case End::none:
        case End::put_out:
            violated("an acquisition ended without an end");
    }
    if (outcome.end != End::admitted) return;
    wish->hold = std::move(outcome.hold);
    world_.at(world_.now() + wish->hold_for, wish->who, [this, wish] { release(*wish); });
}

void Schedule::release(Wish& wish) {
    world_.trace([&] { return std::to_string(wish.who) + " releases " + wish.hold->name(); });
    SimulatedStore& store = *processes_[static_cast<std::size_t>(wish.who)].store;
    store.answers_at_once = true;
    wish.hold->release();
    store.answers_at_once = false;
    wish.hold.reset();
}

Verdict Schedule::run() {
    while (verdict_.violation.empty() && world_.now() <= trouble_time && step()) {
    }
    finish();
    return verdict_;
}

bool Schedule::step() {
    if (!world_.step()) return false;
    ++verdict_.events;
    check();
    return true;
}

void Schedule::check() {
    if (!server_.violation().empty()) violated(server_.violation());
    check_capacity();
    if (!world_.instant_over()) return;
    check_losses_are_told();
    check_patience();
}

void Schedule::check_capacity() {
    std::map<std::pair<std::string_view, int>, std::uint64_t> believed;
    for (const auto& wish : wishes_) {
        if (!wish->hold || !wish->hold->held()) continue;
        for (std::size_t i = 0; i < wish->contenders.size(); ++i) {
            const Contender& one = wish->contenders[i];
            // What a flush forgot is beyond the server's promises: it counts apart.
            const int life = server_.life_of(one.resource, wish->hold->fences()[i]);
            const auto weight = believed[{one.resource, life}] += one.weight;
            if (weight > one.capacity) violated(one.resource + ": held beyond its capacity");
            if (life < server_.life() && world_.now() > server_.flushed() + longest_lease) {
                violated(one.resource + ": still held though the server forgot it long ago");
            }
        }
    }
}

void Schedule::check_losses_are_told() {
    for (const auto& wish : wishes_) {
        if (!wish->hold || world_.crashed(wish->who) || world_.paused(wish->who)) continue;
        if (wish->hold->held()) continue;
        if (!wish->counted_lost) ++verdict_.lost;
        wish->counted_lost = true;
        if (!wish->hold->lost().stop_requested()) violated("a loss was not told");
        if (wish->hold->loss() == Loss::none) violated("a loss has no reason");
    }
}

/// The time that is up is looked at between two requests, so one more may be answered after it.
void Schedule::check_patience() {
    for (const auto& wish : wishes_) {
        const bool concerned = wish->started > Time{} && !wish->ended && wish->patience;
        if (!concerned || world_.crashed(wish->who)) continue;
        const Time late = std::max(wish->started + *wish->patience, world_.paused_until(wish->who));
        if (world_.now() > late + 3 * SimulatedStore::request_timeout + longest_patience / 20) {
            violated("an acquisition of " + wish->contenders.front().resource +
                     " goes on though its time is up");
        }
    }
}

bool Schedule::all_done() const {
    return std::ranges::all_of(wishes_, [this](const auto& wish) {
        return world_.crashed(wish->who) || (wish->ended && !wish->hold);
    });
}

void Schedule::finish() {
    // Each may have to wait for all the others, and for a lease and a claim of everyone who died
    // or whose late request landed.
    const Time limit = world_.now() + latest_landing +
                       wishes_.size() * (longest_hold + 2 * Time{longest_lease} + 2s);
    while (verdict_.violation.empty() && !all_done()) {
        if (world_.now() > limit || !step()) violated("an acquisition never ends");
    }
    // Clean-ups go on for a while, and leases end.
    const Time end = world_.now() + latest_landing + 3 * Time{longest_lease} + 12s;
    world_.at(end, the_world, [] {});
    while (verdict_.violation.empty() && world_.now() < end && step()) {
    }
    if (verdict_.violation.empty()) check_nobody_is_left();
}

void Schedule::check_nobody_is_left() {
    const auto lines = server_.store()->inspect("").get();
    for (const Line& line : lines.value()) {
        violated(line.resource + ": " + std::to_string(line.holders.size()) + " holders and " +
                 std::to_string(line.waiters.size()) + " waiters are left");
    }
}

void Schedule::violated(const std::string& what) {
    if (!verdict_.violation.empty()) return;
    verdict_.violation =
        what + " (after " +
        std::to_string(std::chrono::floor<std::chrono::milliseconds>(world_.now()).count()) +
        " ms)";
    world_.trace([&] { return "VIOLATION: " + what; });
}

/// Ends what a crash or a violation left under way, so that its memory is freed.
void Schedule::dismantle() {
    world_.listener = nullptr;
    for (Who who = 0; std::cmp_less(who, processes_.size()); ++who) {
        world_.revive(who);
        world_.pause(who, Time{0});
        processes_[static_cast<std::size_t>(who)].store->dismantle();
    }
    for (const auto& wish : wishes_) wish->stop.request_stop();
    const Time limit = world_.now() + 2 * Time{longest_lease} + 15s;
    while (world_.now() < limit && world_.step()) {
    }
    for (const auto& wish : wishes_) wish->hold.reset();
    world_.clear();
}

}  // namespace holdfast::simulation
