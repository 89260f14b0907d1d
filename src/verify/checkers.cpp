#include "verify/checkers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace holdfast::verify {

namespace {

using OfOneResource = std::vector<const Visit*>;

std::map<std::string, OfOneResource> admitted_by_resource(std::span<const Visit> visits) {
    std::map<std::string, OfOneResource> found;
    for (const Visit& visit : visits) {
        if (visit.was_admitted()) found[visit.resource].push_back(&visit);
    }
    return found;
}

std::string description_of(const Visit& visit) {
    return visit.who + " (fence " + std::to_string(visit.fence) + ")";
}

std::string milliseconds_in(Instant time) {
    constexpr Instant microsecond = 1000;
    std::string digits = std::to_string(time / microsecond);
    digits.insert(0, digits.size() < 4 ? 4 - digits.size() : 0, '0');
    return digits.insert(digits.size() - 3, ".") + " ms";
}

Violation about(const Visit& visit, std::string what) {
    return {.at = visit.admitted != 0 ? visit.admitted : visit.asked,
            .what = visit.resource + ": " + std::move(what),
            .resource = visit.resource,
            .who = {visit.who}};
}

Violation about(const Visit& visit, const std::string& happened, const Visit& other) {
    Violation found =
        about(visit, description_of(visit) + " " + happened + " " + description_of(other));
    found.who.push_back(other.who);
    return found;
}

/// Whether their fences tell who came first. It may be the other one than who saw it first, where
/// both asked at one time.
bool are_in_order(const Visit& first, const Visit& next) {
    if (first.fence < next.fence) return true;
    return first.fence > next.fence && next.asked < first.admitted;
}

/// Whether the store may have admitted this one first, although it heard of it later: its answer
/// took its time, and the store forgot it meanwhile.
bool may_have_come_first(const Visit& heard_later, const Visit& one) {
    return heard_later.sent != 0 && heard_later.sent < one.admitted &&
           heard_later.fence <= one.fence;
}

/// Those who trust their holds, in the order in which they came.
class Inside {
public:
    void enter(const Visit& visit, std::vector<Violation>& found) {
        std::erase_if(visits_, [&](const Visit* one) { return one->trusted <= visit.admitted; });
        std::uint64_t weight = visit.weight;
        for (const Visit* one : visits_) weight += one->weight;
        if (weight > visit.capacity) found.push_back(violation(visit));
        visits_.push_back(&visit);
    }

private:
    /// Whether those who learned of it within their lease are all that were overtaken: whoever
    /// trusted its hold for longer had it still, beside the newcomer, if there is room for both.
    bool told_in_time(const Visit& newcomer) const {
        const bool has_learned = newcomer.trusted <= newcomer.admitted + newcomer.lease;
        std::uint64_t weight = newcomer.weight;
        for (const Visit* one : visits_) {
            if (has_learned && may_have_come_first(newcomer, *one)) continue;
            if (one->trusted > newcomer.admitted + one->lease) weight += one->weight;
        }
        return weight <= newcomer.capacity;
    }

    Violation violation(const Visit& newcomer) const {
        Violation met = about(newcomer, description_of(newcomer) + " was in beside");
        met.fenced = true;
        for (const Visit* one : visits_) {
            met.what += (met.who.size() > 1 ? ", " : " ") + description_of(*one) +
                        ", who trusted its hold for " +
                        milliseconds_in(one->trusted - newcomer.admitted) + " more";
            met.who.push_back(one->who);
            if (!are_in_order(*one, newcomer)) met.fenced = false;
        }
        met.told_in_time = told_in_time(newcomer);
        if (!met.told_in_time) met.what += ", told too late";
        return met;
    }

    OfOneResource visits_;
};

/// Those who held one resource, in the order in which they came.
class Holders {
public:
    Holders() = default;
    explicit Holders(OfOneResource visits) : visits_(std::move(visits)) {
        std::ranges::sort(visits_, {}, &Visit::admitted);
        Instant latest = 0;
        for (const Visit* one : visits_) {
            latest = std::max(latest, one->trusted);
            trusted_until_.push_back(latest);
        }
    }

    /// How long nobody held it at a stretch while this one waited.
    Instant longest_without(const Visit& visit) const {
        const Instant got_in = visit.was_admitted() ? visit.admitted : visit.ended;
        Instant idle_since = visit.asked;
        Instant longest = 0;
        for (std::size_t i = first_after(visit.asked); i < visits_.size(); ++i) {
            const Visit* one = visits_[i];
            if (one->admitted >= got_in) break;
            longest = std::max(longest, one->admitted - idle_since);
            idle_since = std::max(idle_since, one->trusted);
        }
        return std::max(longest, got_in - idle_since);
    }

private:
    /// None before that one held it then: a history is long, and is not to be read once for each.
    std::size_t first_after(Instant asked) const {
        const auto found = std::ranges::lower_bound(trusted_until_, asked);
        return static_cast<std::size_t>(found - trusted_until_.begin());
    }

    OfOneResource visits_;
    std::vector<Instant> trusted_until_;  ///< by it and all before it
};

}  // namespace

std::vector<Violation> overlaps(std::span<const Visit> visits) {
    std::vector<Violation> found;
    for (auto& [resource, admitted] : admitted_by_resource(visits)) {
        std::ranges::sort(admitted, {}, &Visit::admitted);
        Inside inside;
        for (const Visit* visit : admitted) inside.enter(*visit, found);
    }
    return found;
}

std::vector<Violation> fences_that_fell(std::span<const Visit> visits) {
    std::vector<Violation> found;
    for (auto& [resource, by_asking] : admitted_by_resource(visits)) {
        auto by_admission = by_asking;
        std::ranges::sort(by_asking, {}, &Visit::asked);
        std::ranges::sort(by_admission, {}, &Visit::admitted);
        const Visit* highest = nullptr;
        auto earlier = by_admission.begin();
        for (const Visit* visit : by_asking) {
            for (; earlier != by_admission.end() && (*earlier)->admitted < visit->asked;
                 ++earlier) {
                if (highest == nullptr || (*earlier)->fence > highest->fence) highest = *earlier;
            }
            if (highest == nullptr || visit->fence > highest->fence) continue;
            found.push_back(about(*visit, "came after", *highest));
        }
    }
    return found;
}

std::vector<Violation> fences_given_twice(std::span<const Visit> visits) {
    std::vector<Violation> found;
    for (const auto& [resource, admitted] : admitted_by_resource(visits)) {
        std::map<std::uint64_t, const Visit*> holders;
        for (const Visit* visit : admitted) {
            const auto [at, is_new] = holders.emplace(visit->fence, visit);
            if (is_new) continue;
            found.push_back(about(*visit, "has the fence of", *at->second));
        }
    }
    return found;
}

std::vector<Violation> waits_without_end(std::span<const Visit> visits,
                                         std::span<const std::string> killed) {
    const std::set<std::string> gone(killed.begin(), killed.end());
    std::vector<Violation> found;
    for (const Visit& visit : visits) {
        if (visit.ended != 0 || gone.contains(client_of(visit))) continue;
        found.push_back(about(visit, visit.who + " heard nothing more"));
    }
    return found;
}

std::vector<Violation> idle_while_waited_for(std::span<const Visit> visits, Instant at_most) {
    std::map<std::string, Holders> holders;
    for (auto& [resource, admitted] : admitted_by_resource(visits)) {
        holders.emplace(resource, std::move(admitted));
    }
    std::vector<Violation> found;
    for (const Visit& visit : visits) {
        const Instant longest = holders[visit.resource].longest_without(visit);
        if (longest <= at_most) continue;
        found.push_back(about(
            visit, visit.who + " waited while nobody held it for " + milliseconds_in(longest)));
    }
    return found;
}

std::vector<Violation> unexpected_failures(std::span<const Failure> failures,
                                           std::span<const int> expected) {
    std::vector<Violation> found;
    for (const Failure& failure : failures) {
        if (std::ranges::find(expected, failure.code) != expected.end()) continue;
        found.push_back({failure.at, failure.sentence});
    }
    return found;
}

std::vector<Violation> unexcused(std::span<const Violation> found,
                                 std::span<const Excuse> excuses) {
    std::vector<Violation> left;
    std::ranges::copy_if(found, std::back_inserter(left), [&](const Violation& violation) {
        return std::ranges::none_of(excuses, [&](const Excuse& excuse) {
            return excuse.begin <= violation.at && violation.at <= excuse.end &&
                   (violation.fenced || !excuse.why.told_apart) &&
                   (violation.told_in_time || !excuse.why.told_in_time);
        });
    });
    return left;
}

}  // namespace holdfast::verify
