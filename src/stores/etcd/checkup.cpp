
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "stores/etcd/metrics.hpp"
#include "stores/etcd/protocol.hpp"

/// What on etcd's members makes locks less safe. Their clocks are of no matter: leases are counted
/// without them.
namespace holdfast::inline v0::etcd {

namespace {

/// What a member keeps at the most, unless its flag says otherwise.
constexpr double usual_quota = 2.0 * 1024 * 1024 * 1024;

/// In its interface since 3.6, in its metrics before that.
double quota_of(const messages::StatusResponse& status, const Cluster& cluster) {
    if (status.db_size_quota() > 0) return static_cast<double>(status.db_size_quota());
    for (const net::Address& member : cluster.servers) {
        const auto told = metric(member, "etcd_server_quota_backend_bytes");
        if (told && *told > 0) return *told;
    }
    return usual_quota;
}

class Examiner {
public:
    explicit Examiner(Protocol& protocol) : protocol_(protocol) {}

    Result<Examination> examine() {
        if (auto trouble = judge_members()) return *trouble;
        if (auto trouble = judge_alarms()) return *trouble;
        if (auto trouble = judge_size()) return *trouble;
        return std::move(examination_);
    }

private:
    using Trouble = std::optional<Failure>;

    template <class Request>
    auto ask(Request request) {
        using Response = typename Method<Request>::Response;
        const auto flight = std::make_shared<Flight<Response>>(protocol_.wire());
        protocol_.wire().submit<Request>(std::move(request),
                                         [flight](EtcdWire::AnswerTo<Request> answer) {
                                             flight->complete(std::move(answer.result));
                                         });
        return Pending<Response>(flight).get();
    }
    /// What this user may not ask for.
    template <class Response>
    Trouble untold(const Result<Response>& answer, const std::string& what) {
        if (answer.failure().code != errc::bad_configuration) return answer.failure();
        find(Severity::advice, "etcd.untold", "this user may not ask for " + what,
             "a part of what makes locks less safe cannot be told", "check as the user root");
        return std::nullopt;
    }

    Trouble judge_members();
    Trouble judge_alarms();
    Trouble judge_size();

    void find(Severity severity, std::string name, const std::string& fact, std::string consequence,
              std::string remedy) {
        examination_.findings.push_back({severity, std::move(name),
                                         protocol_.cluster().shown() + ": " + fact,
                                         std::move(consequence), std::move(remedy)});
    }

    Protocol& protocol_;
    Examination examination_;
};

std::optional<Failure> Examiner::judge_members() {
    const auto answer = ask(messages::MemberListRequest());
    if (!answer.ok()) return untold(answer, "the members");
    int voters = 0;
    for (const auto& member : answer.value().members()) voters += member.is_learner() ? 0 : 1;
    constexpr int enough = 3;
    if (voters < enough) {
        find(Severity::warning, "etcd.few_members",
             voters == 1 ? "there is one member alone" : "there are two members alone",
             "when one fails, no lock can be taken and holds are lost; what its disk loses is "
             "forgotten by all",
             "three members, on machines of their own");
    }
    const auto named = protocol_.cluster().servers.size();
    if (named >= static_cast<std::size_t>(voters)) return std::nullopt;
    find(Severity::advice, "etcd.unnamed_members",
         "the URL names " + std::to_string(named) + " of " + std::to_string(voters) + " members",
         "when those fail, the others are not known to ask", "all members in the URL");
    return std::nullopt;
}

std::optional<Failure> Examiner::judge_alarms() {
    const auto answer = ask(messages::AlarmRequest());
    if (!answer.ok()) return untold(answer, "alarms");
    for (const auto& alarm : answer.value().alarms()) {
        if (alarm.alarm() == messages::AlarmMember::NOSPACE) {
            find(Severity::warning, "etcd.full", "the database is full (alarm NOSPACE)",
                 "no lock can be taken",
                 "etcdctl compact, etcdctl defrag, etcdctl alarm disarm, and a larger "
                 "--quota-backend-bytes");
        } else if (alarm.alarm() == messages::AlarmMember::CORRUPT) {
            find(Severity::warning, "etcd.corrupt",
                 "members do not agree on the data (alarm "
                 "CORRUPT)",
                 "two may hold one lock", "replace the member that is wrong");
        }
    }
    return std::nullopt;
}

std::optional<Failure> Examiner::judge_size() {
    const auto answer = ask(messages::StatusRequest());
    if (!answer.ok()) return untold(answer, "the size of the database");
    const double quota = quota_of(answer.value(), protocol_.cluster());
    constexpr double nearly = 0.8;
    if (static_cast<double>(answer.value().db_size()) < nearly * quota) return std::nullopt;
    find(Severity::warning, "etcd.nearly_full",
         "the database has more than eight tenths of its quota",
         "once it is full no lock can be taken",
         "etcdctl compact and etcdctl defrag (or --auto-compaction-retention), or a larger "
         "--quota-backend-bytes");
    return std::nullopt;
}

}  // namespace

Result<Examination> Protocol::examine() {
    return Examiner(*this).examine();
}

}  // namespace holdfast::inline v0::etcd
