#include "stores/redlock/checkup.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "stores/net/outbox.hpp"
#include "stores/redis/checkup.hpp"

namespace holdfast::inline v0::redlock {

namespace {

using namespace std::chrono_literals;

/// Of what is found on a server alone what several of them make good.
constexpr std::array<std::string_view, 3> made_good{"redis.forgets", "redis.saves_late",
                                                    "redis.unconfirmed"};
/// So far apart clocks are worth a word: they are set, and not slewed.
constexpr auto apart = 1s;

/// By how much the nodes' clocks are ahead of ours, at least and at the most.
struct Ahead {
    std::chrono::microseconds least{0};
    std::chrono::microseconds most{0};
};

Ahead ahead_of(const Examination& node) {
    const auto by = [&](Moment moment) {
        return std::chrono::duration_cast<std::chrono::microseconds>(*node.server_clock -
                                                                     moment.time_since_epoch());
    };
    return {by(node.clock_told), by(node.clock_asked)};
}

class Examiner {
public:
    explicit Examiner(const Nodes& nodes) : nodes_(nodes) {}

    std::optional<Failure> add(const redis::Address& address, Result<Examination> one) {
        if (!one.ok()) {
            if (net::is_lasting(one.failure())) return one.failure();
            warn("redlock.node_away", one.failure().sentence,
                 "fewer of the others may fail before nobody gets a lock",
                 "bring " + address.shown() + " back");
            return std::nullopt;
        }
        for (Finding& finding : one.value().findings) {
            if (std::ranges::find(made_good, finding.name) != made_good.end()) continue;
            examination_.findings.push_back(std::move(finding));
        }
        if (one.value().server_clock) clocks_.push_back(ahead_of(one.value()));
        return std::nullopt;
    }
    Examination finish() {
        judge_clocks();
        return std::move(examination_);
    }

private:
    void judge_clocks() {
        if (clocks_.empty()) return;
        const auto latest = std::ranges::max(clocks_, {}, &Ahead::least).least;
        const auto earliest = std::ranges::min(clocks_, {}, &Ahead::most).most;
        if (latest - earliest < apart) return;
        const auto seconds = std::chrono::round<std::chrono::seconds>(latest - earliest).count();
        warn("redlock.clocks",
             nodes_.shown() + ": the nodes' clocks are " + std::to_string(seconds) + " s apart",
             "a clock that is set right again, forward, ends leases early: two may hold, told "
             "apart by their fences; with clocks half of max_lease apart nobody gets a lock",
             "let all nodes follow one time (chrony, ntpd), slewed and not set");
    }
    void warn(std::string name, std::string fact, std::string consequence, std::string remedy) {
        examination_.findings.push_back({Severity::warning, std::move(name), std::move(fact),
                                         std::move(consequence), std::move(remedy)});
    }

    const Nodes& nodes_;
    Examination examination_;
    std::vector<Ahead> clocks_;
};

}  // namespace

Result<Examination> examine(const Nodes& nodes, const std::string& channel) {
    Examiner examiner(nodes);
    for (const redis::Address& address : nodes.addresses) {
        redis::Servers alone{.named = {address}};
        auto failure =
            examiner.add(address, redis::examine(alone, redis::Pushes{.channel = channel}));
        if (failure) return *std::move(failure);
    }
    return examiner.finish();
}

}  // namespace holdfast::inline v0::redlock
