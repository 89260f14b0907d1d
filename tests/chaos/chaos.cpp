#include "chaos/chaos.hpp"

#include <holdfast/holdfast.hpp>
#include <ostream>
#include <utility>

#include "chaos/administrator.hpp"
#include "chaos/crew.hpp"
#include "chaos/fenced_sink.hpp"
#include "chaos/nemesis.hpp"
#include "support/await.hpp"
#include "support/temporary_folder.hpp"
#include "verify/checkers.hpp"

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;
using verify::Complaint;
using verify::History;
using verify::Instant;
using verify::Violation;
using verify::Visit;

/// So long may nobody hold a lock that somebody waits for: a fault or two, a failover, and the
/// leases of those who died meanwhile.
Instant idle_at_most(const Site& site) {
    constexpr int leases = 20;
    const std::chrono::nanoseconds limit = 10s + leases * site.shortest_lease();
    return limit.count();
}

/// What is wrong, and how much was looked at.
class Verdict {
public:
    explicit Verdict(std::ostream& out) : out_(out) {}

    void add(const std::string& kind, const std::vector<Violation>& found) {
        for (const Violation& one : found) add(kind, one.what);
    }
    void add(const std::string& kind, const std::string& what) {
        // Where one thing is wrong, hundreds may be; the first ones tell.
        if (++wrong_ <= told_at_most) out_ << "  " << kind << ": " << what << "\n";
    }
    int wrong() const { return wrong_; }

private:
    static constexpr int told_at_most = 20;
    std::ostream& out_;
    int wrong_ = 0;
};

std::size_t admitted_in(const History& history) {
    std::size_t count = 0;
    for (const Visit& visit : history.visits) count += visit.was_admitted() ? 1 : 0;
    return count;
}

/// Whether the store says so; one that does not answer is asked again by whoever waits for it.
template <class Question>
bool comes_true(const Site& site, Question question) {
    constexpr auto limit = 60s;
    return test::await(
        [&] {
            try {
                return question(connect(site.url()));
            } catch (const Error&) {
                return false;
            }
        },
        limit);
}

/// After the last fault a free lock is had soon, and in the end nobody is left in any line.
void see_what_is_left(const Site& site, Verdict& verdict) {
    const verify::Manner manner = manner_on(site.abilities());
    for (const std::string& name : verify::resources(manner)) {
        const auto has_nobody = [&](const Client& client) { return !client.look_at(name); };
        if (!comes_true(site, has_nobody)) verdict.add("left", name + " has somebody in line");
    }
    for (const std::string& name : verify::mutexes(manner)) {
        const auto is_free = [&](const Client& client) {
            return client.mutex(name).try_lock_for(10s);
        };
        if (!comes_true(site, is_free)) verdict.add("stuck", name + " is not free");
    }
}

void judge_numbers(const FencedNumbers& numbers, Verdict& verdict) {
    for (const auto& [name, guarded] : numbers.all()) {
        if (guarded.number == guarded.writes) continue;
        verdict.add("lost update", name + ": " + std::to_string(guarded.writes) + " writes made " +
                                       std::to_string(guarded.number));
    }
}

void judge_fences(const History& history, Verdict& verdict) {
    verdict.add("fence", verify::fences_that_fell(history.visits));
    verdict.add("fence given twice", verify::fences_given_twice(history.visits));
}

void judge(const History& history, const Site& site, const Nemesis& nemesis, const Crew& crew,
           Verdict& verdict, std::ostream& out) {
    const auto met = verify::overlaps(history.visits);
    const auto not_excused = verify::unexcused(met, nemesis.excuses());
    verdict.add("overlap", not_excused);
    verdict.add("no end", verify::waits_without_end(history.visits, crew.killed()));
    verdict.add("idle", verify::idle_while_waited_for(history.visits, idle_at_most(site)));
    const int expected[] = {static_cast<int>(errc::unreachable), static_cast<int>(errc::cancelled)};
    verdict.add("error", verify::unexpected_failures(history.failures, expected));
    for (const Complaint& one : history.complaints) verdict.add("complaint", one.what);
    out << "  " << admitted_in(history) << " of " << history.visits.size() << " were admitted, "
        << history.failures.size() << " errors, " << met.size() - not_excused.size()
        << " overlaps that the table of faults names\n";
}

void tell_strikes(const Nemesis& nemesis, std::ostream& out) {
    int all = 0;
    for (const auto& [name, count] : nemesis.strikes()) all += count;
    out << "  " << all << " faults:";
    for (const auto& [name, count] : nemesis.strikes()) out << " " << count << " x " << name << ";";
    out << "\n";
}

std::vector<Fault> faults_of(Site& site, Crew& crew, Administrator& administrator) {
    auto faults = site.faults();
    for (Fault& one : crew.faults()) faults.push_back(std::move(one));
    for (Fault& one : administrator.faults()) faults.push_back(std::move(one));
    return faults;
}

}  // namespace

bool run(const SiteEntry& entry, const Plan& plan, std::ostream& out) {
    out << entry.name << ", --seed " << plan.seed << std::endl;
    Random random(plan.seed);
    const test::TemporaryFolder folder;
    const auto journals = folder.path() / "journals";
    std::filesystem::create_directory(journals);
    const auto site = entry.make();
    const FencedSink sink(folder.path() / "sink");
    Crew crew({site->url(), journals, folder.path() / "sink", plan.seed, site->abilities(),
               site->shortest_lease(), site->broken()},
              site->broken().empty() ? plan.workers : plan.workers / 2, random);
    Administrator administrator(*site);
    Nemesis nemesis(faults_of(*site, crew, administrator), *site, random);
    const auto end = std::chrono::steady_clock::now() + plan.time;
    while (std::chrono::steady_clock::now() < end) nemesis.strike();
    Verdict verdict(out);
    for (const std::string& one : crew.dismiss()) verdict.add("stuck", one);
    see_what_is_left(*site, verdict);
    const History history = verify::read_history(journals);
    judge(history, *site, nemesis, crew, verdict, out);
    if (site->abilities().fences) {
        judge_fences(history, verdict);
        judge_numbers(sink.numbers(), verdict);
    }
    tell_strikes(nemesis, out);
    out << "  "
        << (verdict.wrong() == 0 ? "nothing wrong" : "WRONG: " + std::to_string(verdict.wrong()))
        << std::endl;
    return verdict.wrong() == 0;
}

}  // namespace holdfast::chaos
