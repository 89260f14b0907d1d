#include <algorithm>
#include <sstream>
#include <string>

#include "stores/zookeeper/protocol.hpp"

/// What on ZooKeeper's servers makes locks less safe. All is learnt as any client does: none of the
/// four-letter words is needed, which servers mostly refuse.
namespace holdfast::inline v0::zookeeper {

namespace {

using namespace std::chrono_literals;

constexpr auto usual_lease = 30s;
constexpr std::string_view configuration = "/zookeeper/config";

/// Of "server.1=host:2888:3888:participant;..." in lines; none where a server stands alone.
std::size_t voters_in(const std::string& text) {
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool votes = line.find(":observer") == std::string::npos;
        if (line.starts_with("server.") && votes) ++count;
    }
    return std::max<std::size_t>(count, 1);
}

void judge_sessions(std::chrono::milliseconds longest, const std::string& who,
                    std::vector<Finding>& findings) {
    if (longest >= usual_lease) return;
    findings.push_back(
        {.severity = Severity::advice,
         .name = "zookeeper.short_sessions",
         .fact = who + ": the servers grant leases of " + std::to_string(longest.count() / 1000) +
                 " s at most",
         .consequence = "a lock that asks for the usual 30 s gets no more than that, and one that "
                        "asks for longer is refused: holds stand shorter pauses",
         .remedy = "maxSessionTimeout=60000 on all servers"});
}

void judge_ensemble(std::size_t voters, std::size_t named, const std::string& who,
                    std::vector<Finding>& findings) {
    constexpr std::size_t enough = 3;
    if (voters < enough) {
        findings.push_back(
            {.severity = Severity::warning,
             .name = "zookeeper.few_servers",
             .fact = who + ": " +
                     (voters == 1 ? "there is one server alone" : "there are two servers alone"),
             .consequence = "when one fails, no lock can be taken and holds are lost; what its "
                            "disk loses is forgotten",
             .remedy = "an ensemble of three, on machines of their own"});
    }
    if (named >= voters) return;
    findings.push_back({.severity = Severity::advice,
                        .name = "zookeeper.unnamed_servers",
                        .fact = who + ": the URL names " + std::to_string(named) + " of " +
                                std::to_string(voters) + " servers",
                        .consequence = "when those fail, the others are not known to ask",
                        .remedy = "all servers in the URL, or a host name that leads to all"});
}

void cannot_tell(const std::string& who, std::vector<Finding>& findings) {
    findings.push_back({.severity = Severity::advice,
                        .name = "zookeeper.untold",
                        .fact = who + ": this user may not read " + std::string(configuration),
                        .consequence = "how many servers there are cannot be told",
                        .remedy = "let everybody read that node, or check as a user who may"});
}

}  // namespace

Result<Examination> Protocol::examine() {
    const auto flight = std::make_shared<Flight<Reply>>(wire_);
    submit(wire_.any_term(), {.operations = {read_node(configuration)}},
           [flight](Protocol&, const Answer& answer) {
               if (!answer.result.ok()) return flight->complete(answer.result.failure());
               flight->complete(answer.result.value().front());
           });
    const auto reply = Pending<Reply>(flight).get();
    if (!reply.ok()) return reply.failure();
    Examination examination;
    judge_sessions(wire_.longest_session(), shown(), examination.findings);
    if (reply.value().ok()) {
        judge_ensemble(voters_in(reply.value().content().data), ensemble().servers.size(), shown(),
                       examination.findings);
    } else {
        cannot_tell(shown(), examination.findings);
    }
    return examination;
}

}  // namespace holdfast::inline v0::zookeeper
