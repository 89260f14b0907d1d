#include "verify/report.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::verify {

namespace {

constexpr Instant second = 1'000'000'000;

std::vector<std::string> killed_in(const Trial& trial) {
    std::vector<std::string> clients;
    for (const Interference& one : trial.interferences) {
        if (one.killed) clients.push_back(one.client);
    }
    return clients;
}

bool was_killed(const Trial& trial, const Visit& visit) {
    return visit.ending == Ending::unknown &&
           std::ranges::any_of(trial.interferences, [&](const Interference& one) {
               return one.killed && one.client == client_of(visit);
           });
}

bool stood_still(const Trial& trial, const Visit& visit) {
    return std::ranges::any_of(trial.interferences, [&](const Interference& one) {
        return !one.killed && one.client == client_of(visit) && one.begin <= visit.ended &&
               one.end >= visit.asked;
    });
}

/// From one's release to the next one's hold, where the next one asked before.
std::vector<Instant> hand_offs_in(const History& history) {
    std::map<std::string, std::vector<const Visit*>> exclusive;
    for (const Visit& visit : history.visits) {
        if (visit.was_admitted() && visit.weight == visit.capacity) {
            exclusive[visit.resource].push_back(&visit);
        }
    }
    std::vector<Instant> times;
    for (auto& [resource, visits] : exclusive) {
        std::ranges::sort(visits, {}, &Visit::admitted);
        for (std::size_t i = 1; i < visits.size(); ++i) {
            const Visit& before = *visits[i - 1];
            const Visit& next = *visits[i];
            const bool handed = before.ending == Ending::released && next.asked < before.trusted &&
                                next.patience != 0 && next.admitted >= before.trusted;
            if (handed) times.push_back(next.admitted - before.trusted);
        }
    }
    return times;
}

void leave_out(const std::string& part, std::string& text) {
    if (part.empty()) return;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
        text.erase(at, part.size());
    }
}

/// Collects what is broken, by the promise that it breaks.
class Judgement {
public:
    explicit Judgement(Report& report) : report_(report) {}

    void add(Promise promise, std::vector<Violation> found) {
        for (Violation& one : found) report_.broken.push_back({promise, std::move(one)});
    }
    /// In order, and by names that do not begin with what all of them begin with.
    void finish() {
        for (Broken& one : report_.broken)
            leave_out(report_.trial.manner.prefix, one.violation.what);
        std::ranges::stable_sort(report_.broken, {},
                                 [](const Broken& one) { return one.violation.at; });
    }

private:
    Report& report_;
};

std::vector<Violation> complaints_in(const History& history) {
    std::vector<Violation> found;
    for (const Complaint& one : history.complaints) {
        found.push_back({.at = one.at, .what = one.what});
    }
    return found;
}

void judge(Report& report) {
    const Trial& trial = report.trial;
    const auto& visits = trial.history.visits;
    Judgement judgement(report);
    judgement.add(Promise::exclusion, overlaps(visits));
    if (trial.manner.abilities.fences) {
        judgement.add(Promise::fences, fences_that_fell(visits));
        judgement.add(Promise::fences, fences_given_twice(visits));
    }
    const auto killed = killed_in(trial);
    judgement.add(Promise::ends, waits_without_end(visits, killed));
    judgement.add(Promise::told, complaints_in(trial.history));
    judgement.add(Promise::freed, idle_while_waited_for(visits, idle_at_most(trial.manner)));
    constexpr std::array expected{static_cast<int>(errc::unreachable),
                                  static_cast<int>(errc::cancelled)};
    judgement.add(Promise::works, unexpected_failures(trial.history.failures, expected));
    judgement.finish();
}

std::string counted(std::size_t count, const std::string& one, const std::string& several) {
    return std::to_string(count) + " " + (count == 1 ? one : several);
}

/// Of those who were not answered.
std::string last_sentence_in(const Trial& trial) {
    std::string sentence;
    for (const Failure& one : trial.history.failures) {
        if (one.code == static_cast<int>(errc::unreachable)) sentence = one.sentence;
    }
    leave_out(trial.manner.prefix, sentence);
    return sentence;
}

void exempt_what_happened(Report& report) {
    const Figures& figures = report.figures;
    auto add = [&](std::size_t count, const std::string& one, const std::string& several,
                   const std::string& why) {
        if (count > 0) report.exempt.push_back({counted(count, one, several), why});
    };
    add(figures.lost_standing_still, "hold was lost", "holds were lost",
        "a client that stands still for longer than its lease loses it, and learns of it as soon "
        "as it goes on");
    add(killed_in(report.trial).size(), "client was killed, its waits did not end",
        "clients were killed, their waits did not end",
        "the place of a dead holder is free when its lease is over; at once on local:");
    add(figures.lost - figures.lost_standing_still, "hold was lost otherwise",
        "holds were lost otherwise",
        "that is allowed while it is told in time: the store was not heard of, forgot, or somebody "
        "ended them");
    add(figures.errors, "request was not answered in time", "requests were not answered in time",
        "a store that does not answer lets nobody in; to a client that stood still it looks the "
        "same. The last one: " +
            last_sentence_in(report.trial));
}

}  // namespace

std::string_view name_of(Promise promise) {
    constexpr std::array<std::string_view, 7> names{"exclusion", "fences",  "ends", "told",
                                                    "freed",     "emptied", "works"};
    return names.at(static_cast<std::size_t>(promise));
}

Times times_of(std::vector<Instant> times) {
    if (times.empty()) return {};
    std::ranges::sort(times);
    const auto at = [&](std::size_t percent) {
        return times[std::min(times.size() * percent / 100, times.size() - 1)];
    };
    return {.count = times.size(), .p50 = at(50), .p99 = at(99)};
}

Instant idle_at_most(const Manner& manner) {
    constexpr int leases = 5;
    return 10 * second + leases * std::chrono::nanoseconds{manner.longest_lease}.count();
}

Figures figures_of(const Trial& trial) {
    Figures figures;
    std::vector<Instant> waits;
    for (const Visit& visit : trial.history.visits) {
        ++figures.asked;
        if (visit.was_admitted()) ++figures.holds;
        if (visit.ending == Ending::busy) ++figures.busy;
        if (visit.was_lost()) ++figures.lost;
        if (visit.was_lost() && stood_still(trial, visit)) ++figures.lost_standing_still;
        if (visit.was_admitted() && was_killed(trial, visit)) ++figures.killed;
        if (visit.was_admitted() && visit.patience != 0) {
            waits.push_back(visit.admitted - visit.asked);
        }
    }
    figures.errors = static_cast<std::size_t>(std::ranges::count(
        trial.history.failures, static_cast<int>(errc::unreachable), &Failure::code));
    figures.wait = times_of(std::move(waits));
    figures.hand_off = times_of(hand_offs_in(trial.history));
    return figures;
}

Report report_on(Trial trial, std::vector<Exemption> exempt) {
    Report report{
        .trial = std::move(trial), .figures = {}, .broken = {}, .exempt = std::move(exempt)};
    std::ranges::sort(report.trial.history.visits, {}, &Visit::asked);
    report.broken = report.trial.seen;
    report.figures = figures_of(report.trial);
    judge(report);
    exempt_what_happened(report);
    return report;
}

}  // namespace holdfast::verify
