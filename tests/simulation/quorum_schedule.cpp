#include "simulation/quorum_schedule.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::simulation {

using namespace std::chrono_literals;
using exploration::Letter;
using exploration::Participant;
using exploration::Request;
using redlock::Decision;

namespace {

constexpr Time trouble_time = 15s;
constexpr Time latest_landing = 4s;
constexpr Time longest_hold = 2s;
/// How soon a node's disk has what the node has.
constexpr Time disk_pace = 1s;
constexpr std::chrono::milliseconds max_lease = 2s;
/// Of one clock beside the true time: two of them stay within what a lease is counted less by.
constexpr std::int64_t most_drift_ppm = 4'000;

}  // namespace

QuorumSchedule::QuorumSchedule(std::uint64_t seed, exploration::Fault fault,
                               exploration::Lapse lapse, std::ostream* trace)
    : random_(seed) {
    if (trace != nullptr) {
        world_.listener = [trace](Time when, const std::string& what) {
            *trace << std::chrono::duration<double, std::milli>(when).count() << " ms: " << what
                   << '\n';
        };
    }
    static constexpr unsigned roughness[] = {0, 10, 50, 200};
    lost_ = roughness[random_.below(4)];
    late_ = roughness[random_.below(4)];
    doubled_ = roughness[random_.below(4)];
    request_timeout_ = random_.between(Time{100ms}, Time{1500ms});
    clocks_jump_ = random_.chance(300);
    lease_ = std::chrono::milliseconds{random_.between(400U, 2000U)};
    terms_ = {.nodes = 2 * random_.between(1U, 4U) + 1, .max_lease = max_lease};
    make_nodes(lapse);
    make_clients(fault);
    plan_trouble();
}

void QuorumSchedule::make_nodes(exploration::Lapse lapse) {
    const bool agree = random_.chance(400);
    for (std::size_t i = 0; i < terms_.nodes; ++i) {
        ServedNode one{.node = exploration::Node(terms_, lapse)};
        one.on_disk = one.node.memory();
        // Together less than half of max_lease apart, with what they drift.
        const Time ahead = agree ? Time{0} : random_.between(Time{0}, Time{800ms});
        one.ahead = std::chrono::floor<std::chrono::microseconds>(ahead);
        one.drift_ppm =
            static_cast<std::int64_t>(random_.below(2 * most_drift_ppm)) - most_drift_ppm;
        nodes_.push_back(std::move(one));
    }
}

void QuorumSchedule::make_clients(exploration::Fault fault) {
    const auto count = static_cast<Who>(random_.between(2U, 5U));
    for (Who who = 0; who < count; ++who) {
        const auto drift =
            static_cast<std::int64_t>(random_.below(2 * most_drift_ppm)) - most_drift_ppm;
        clients_.push_back({.clock = std::make_unique<MachineClock>(
                                world_, random_.between(Time{10s}, Time{1000h}), drift),
                            .participant = Participant(terms_, fault),
                            .proposals = redlock::Proposals(terms_),
                            .wishes = static_cast<int>(random_.between(1U, 8U))});
        world_.at(random_.between(Time{0}, Time{1s}), who, [this, who] { next_wish(who); });
    }
}

void QuorumSchedule::plan_trouble() {
    for (std::size_t node = 0; node < nodes_.size(); ++node) plan_trouble_of_node(node);
    for (Who who = 0; std::cmp_less(who, clients_.size()); ++who) plan_trouble_of_client(who);
    world_.at(trouble_time, the_world, [this] { lost_ = late_ = doubled_ = 0; });
}

void QuorumSchedule::plan_trouble_of_node(std::size_t node) {
    for (Time when = disk_pace; when < trouble_time; when += disk_pace) {
        world_.at(when, the_world,
                  [this, node] { nodes_[node].on_disk = nodes_[node].node.memory(); });
    }
    for (int i = 0; i < 3 && random_.chance(300); ++i) {
        world_.at(random_.between(Time{0}, trouble_time), the_world,
                  [this, node] { clocks_jump_ ? jump(node) : restart(node); });
    }
}

void QuorumSchedule::plan_trouble_of_client(Who who) {
    if (random_.chance(100)) {
        world_.at(random_.between(Time{0}, trouble_time), the_world, [this, who] {
            trace(who, "crashes");
            ++verdict_.crashes;
            world_.crash(who);
        });
    }
    if (random_.chance(300)) {
        const Time until = random_.between(Time{1ms}, Time{4s});
        world_.at(random_.between(Time{0}, trouble_time), the_world, [this, who, until] {
            trace(who, "is paused");
            world_.pause(who, world_.now() + until);
        });
    }
}

// What clients do ---------------------------------------------------------------------------------

void QuorumSchedule::next_wish(Who who) {
    Client& one = client(who);
    if (one.wishes-- == 0) return;
    one.tries = 0;
    one.weight = random_.chance(700) ? all : 1;
    enter(who);
}

void QuorumSchedule::enter(Who who) {
    trace(who, "enters");
    Client& one = client(who);
    const Moment now = one.clock->now();
    Request request{.weight = one.weight, .lease = lease_, .fence = one.proposals.next(now)};
    std::memcpy(request.nonce.bytes.data(), &++nonces_, sizeof nonces_);
    one.highest_when_sent = highest_fence_;
    one.was_in = false;
    send(who, one.participant.enter(request, now));
    world_.at(world_.now() + request_timeout_, who,
              [this, who, nonce = request.nonce] { give_up(who, nonce); });
}

void QuorumSchedule::give_up(Who who, const Nonce& nonce) {
    Client& one = client(who);
    if (!one.participant.is_entering() || one.participant.nonce() != nonce) return;
    send(who, one.participant.give_up(one.clock->now()));
    go_on(who, true);
}

void QuorumSchedule::hear(Who who, const Letter& letter, const Vote& vote,
                          std::chrono::microseconds clock) {
    Client& one = client(who);
    const Moment now = one.clock->now();
    one.proposals.heard(letter.node, clock, now);
    const bool was_entering = one.participant.is_entering();
    const auto letters = one.participant.take(letter, vote, now);
    if (one.participant.is_entering()) verdict_.written_back += letters.size();
    send(who, letters);
    go_on(who, was_entering);
}

void QuorumSchedule::go_on(Who who, bool was_entering) {
    const Participant& one = client(who).participant;
    if (!was_entering || one.is_entering()) return;
    one.is_in() ? admitted(who) : refused(who);
}

void QuorumSchedule::admitted(Who who) {
    trace(who, "is admitted");
    Client& one = client(who);
    ++verdict_.admitted;
    check_fence(one);
    const Nonce nonce = one.participant.nonce();
    world_.at(world_.now() + lease_ / 3, who, [this, who, nonce] { renew(who, nonce); });
    world_.at(world_.now() + random_.between(Time{0}, longest_hold), who,
              [this, who, nonce] { leave(who, nonce); });
}

void QuorumSchedule::refused(Who who) {
    Client& one = client(who);
    const Decision why = one.participant.ended_as();
    if (why == Decision::held) ++verdict_.held;
    if (why == Decision::contested) ++verdict_.contested;
    if (why == Decision::too_few) ++verdict_.too_few;
    if (why == Decision::late) ++verdict_.late;
    // As one that nobody calls.
    const Time lease_over = why == Decision::held ? one.participant.until_free() : 0ms;
    const Time delay = redlock::back_off(one.tries++, 5ms, random_.next());
    world_.at(world_.now() + lease_over / 4 + delay, who, [this, who] { enter(who); });
}

void QuorumSchedule::renew(Who who, const Nonce& nonce) {
    Participant& one = client(who).participant;
    if (!one.is_in() || one.nonce() != nonce) return;
    const Moment now = client(who).clock->now();
    if (!one.holds(now)) {
        ++verdict_.lost;
        return leave(who, nonce);
    }
    if (one.is_renewing()) send(who, one.give_up(now));
    send(who, one.renew(now));
    world_.at(world_.now() + lease_ / 3, who, [this, who, nonce] { renew(who, nonce); });
}

void QuorumSchedule::leave(Who who, const Nonce& nonce) {
    Participant& one = client(who).participant;
    if (!one.is_in() || one.nonce() != nonce) return;
    trace(who, "leaves");
    send(who, one.leave());
    world_.at(world_.now() + random_.between(Time{0}, Time{1s}), who,
              [this, who] { next_wish(who); });
}

// What the network and the nodes do ---------------------------------------------------------------

void QuorumSchedule::send(Who who, const std::vector<Letter>& letters) {
    for (const Letter& letter : letters) {
        send_one(who, letter);
        if (random_.chance(doubled_)) send_one(who, letter);
    }
}

void QuorumSchedule::send_one(Who who, const Letter& letter) {
    if (random_.chance(lost_)) return;
    world_.at(world_.now() + one_way(), the_world, [this, who, letter] { arrive(who, letter); });
}

void QuorumSchedule::arrive(Who who, const Letter& letter) {
    ServedNode& one = nodes_[letter.node];
    if (world_.now() < one.down_until) return;
    const auto clock = clock_of(one);
    const Vote vote = one.node.answer(letter.request, clock);
    if (random_.chance(lost_)) return;
    world_.at(world_.now() + one_way(), who,
              [this, who, letter, vote, clock] { hear(who, letter, vote, clock); });
}

Time QuorumSchedule::one_way() {
    if (random_.chance(late_)) return random_.between(Time{1ms}, latest_landing);
    return random_.between(Time{20us}, Time{3ms});
}

/// It comes back empty, with what its disk had, or with all.
void QuorumSchedule::restart(std::size_t node) {
    ++verdict_.restarts;
    world_.trace([node] { return "node " + std::to_string(node) + " restarts"; });
    ServedNode& one = nodes_[node];
    const auto kind = random_.below(3);
    const auto now = clock_of(one);
    if (kind == 0) one.node.restart({}, now);
    if (kind == 1) one.node.restart(one.on_disk, now);
    if (kind == 2) one.node.restart(one.node.memory(), now);
    one.down_until = world_.now() + random_.between(Time{0}, Time{1s});
}

void QuorumSchedule::jump(std::size_t node) {
    ++verdict_.jumps;
    const bool is_forward = random_.chance(500);
    const Time far = random_.between(Time{1ms}, Time{800ms});
    nodes_[node].ahead += std::chrono::floor<std::chrono::microseconds>(is_forward ? far : -far);
    // Leases that were counted before it, and are renewed until after it.
    if (is_forward) excused_until_ = world_.now() + 2 * Time{max_lease};
}

std::chrono::microseconds QuorumSchedule::clock_of(const ServedNode& node) const {
    const Time now = world_.now() + 1h + Time{world_.now().count() / 1'000'000 * node.drift_ppm};
    return std::chrono::floor<std::chrono::microseconds>(now) + node.ahead;
}

// What must be true -------------------------------------------------------------------------------

QuorumVerdict QuorumSchedule::run() {
    while (verdict_.violation.empty() && world_.now() <= trouble_time && world_.step()) check();
    finish();
    return verdict_;
}

void QuorumSchedule::check() {
    ++verdict_.events;
    std::uint64_t held = 0;
    for (const Client& one : clients_) {
        if (one.participant.holds(one.clock->now())) held += one.weight;
    }
    if (held <= all) return;
    if (world_.now() > excused_until_) return violated("held beyond the capacity");
    ++verdict_.overlaps;
}

/// Of two readers beside each other either may have the higher one.
void QuorumSchedule::check_fence(const Client& client) {
    const auto fence = client.participant.fence();
    const auto before = client.weight == all
                            ? highest_fence_
                            : std::max(highest_exclusive_, client.highest_when_sent);
    if (fence <= before) {
        violated("fence " + std::to_string(fence) + " comes after " + std::to_string(before));
    }
    highest_fence_ = std::max(highest_fence_, fence);
    if (client.weight == all) highest_exclusive_ = std::max(highest_exclusive_, fence);
}

bool QuorumSchedule::all_done() const {
    for (Who who = 0; std::cmp_less(who, clients_.size()); ++who) {
        const Client& one = clients_[static_cast<std::size_t>(who)];
        const bool is_out = !one.participant.is_in() && !one.participant.is_entering();
        if (!world_.crashed(who) && (one.wishes >= 0 || !is_out)) return false;
    }
    return true;
}

/// In fair weather everybody gets in, and nobody is left behind.
void QuorumSchedule::finish() {
    const Time limit = world_.now() + latest_landing + 5 * 8 * (longest_hold + 2 * max_lease + 2s);
    while (verdict_.violation.empty() && !all_done()) {
        if (world_.now() > limit || !world_.step()) violated("a client never gets in");
        check();
    }
    const Time end = world_.now() + latest_landing + 2 * max_lease;
    world_.at(end, the_world, [] {});
    while (verdict_.violation.empty() && world_.now() < end && world_.step()) check();
    for (const ServedNode& one : nodes_) {
        const auto& holders = one.node.memory().holders;
        const bool is_left = std::ranges::any_of(
            holders, [&](const auto& holder) { return holder.lease_end > clock_of(one); });
        if (is_left) violated("somebody is left at a node");
    }
}

void QuorumSchedule::violated(const std::string& what) {
    if (!verdict_.violation.empty()) return;
    verdict_.violation = what;
    world_.trace([&] { return "VIOLATION: " + what; });
}

void QuorumSchedule::trace(Who who, const char* what) const {
    world_.trace([&] { return std::to_string(who) + " " + what; });
}

}  // namespace holdfast::simulation
