#include "cli/json.hpp"

#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ContenderInfo& contender, Detail detail) {
    Json result{{"owner", contender.owner},
                {"fence", contender.fence},
                {"lease_left_ms", contender.lease_left.count()},
                {"weight", contender.weight},
                {"capacity", contender.capacity}};
    if (detail == Detail::listed) return result;
    result["host"] = contender.host;
    result["pid"] = contender.pid;
    result["age_ms"] = contender.age ? Json(contender.age->count()) : Json();
    result["foreign"] = contender.foreign;
    return result;
}

Json to_json(const std::vector<ContenderInfo>& contenders, Detail detail) {
    Json result = Json::array();
    for (const ContenderInfo& contender : contenders) result.push_back(to_json(contender, detail));
    return result;
}

std::string word_for(Reach reach) {
    switch (reach) {
        case Reach::process:
            return "process";
        case Reach::machine:
            return "machine";
        case Reach::network:
            break;
    }
    return "network";
}

std::string word_for(Survival survival) {
    switch (survival) {
        case Survival::no_server:
            return "no_server";
        case Survival::no:
            return "no";
        case Survival::if_set_up:
            return "if_set_up";
        case Survival::yes:
            break;
    }
    return "yes";
}

std::string word_for(Waking waking) {
    switch (waking) {
        case Waking::told:
            return "told";
        case Waking::told_and_looks:
            return "told_and_look";
        case Waking::looks:
            break;
    }
    return "look";
}

/// All of them, with a comma and a blank between each two.
Json words_in(std::string_view words) {
    Json result = Json::array();
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
        comma = words.find(", ");
        result.push_back(words.substr(0, comma));
        if (comma != std::string_view::npos) words.remove_prefix(comma + 2);
    }
    return result;
}

Json to_json(const StoreInfo& store) {
    const Capabilities& can = store.can;
    const bool servers_decide = !can.longest_lease_is.empty();
    return {{"name", store.name},
            {"schemes", words_in(store.schemes)},
            {"in_this_build", store.in_this_build},
            {"for", word_for(can.reach)},
            {"survives_restart", word_for(can.survives_restart)},
            {"survives_failover", word_for(can.survives_failover)},
            {"fences", can.fences},
            {"fifo", can.fifo},
            {"barging", can.barging},
            {"barging_shares", can.barging && can.barging_shares},
            {"default_fairness", can.default_fairness == Fairness::fifo ? "fifo" : "barging"},
            {"readers", can.shared},
            {"permits", can.permits},
            {"several_at_once", can.enter_together},
            {"reenter", can.reenter},
            {"lengthens", can.lengthens},
            {"waiters", word_for(can.waking)},
            {"dead_holder", can.freeing == Freeing::at_once ? "at_once" : "with_the_lease"},
            {"shortest_lease_ms", can.shortest_lease ? Json(can.shortest_lease->count()) : Json()},
            {"longest_lease_ms", servers_decide ? Json() : Json(can.longest_lease.count())},
            {"longest_shared_lease_ms",
             servers_decide ? Json() : Json(can.longest_shared_lease.count())},
            {"round_trips", can.round_trips}};
}

Json to_json(const Spread& spread) {
    if (spread.count == 0) return {};
    const auto microseconds = [](std::chrono::nanoseconds time) {
        return std::chrono::duration<double, std::micro>(time).count();
    };
    return {{"p50_us", microseconds(spread.p50)},
            {"p99_us", microseconds(spread.p99)},
            {"count", spread.count}};
}

Json to_json(const Finding& finding) {
    return {{"severity", finding.severity == Severity::warning ? "warning" : "advice"},
            {"name", finding.name},
            {"fact", finding.fact},
            {"consequence", finding.consequence},
            {"remedy", finding.remedy}};
}

Json to_json(const verify::Times& times) {
    if (times.count == 0) return {};
    return {{"p50_us", static_cast<double>(times.p50) / 1000},
            {"p99_us", static_cast<double>(times.p99) / 1000},
            {"count", times.count}};
}

Json to_json(const verify::Broken& broken, verify::Instant begin) {
    const auto& [promise, violation] = broken;
    return {{"promise", name_of(promise)},
            {"at_us", violation.at > begin ? Json((violation.at - begin) / 1000) : Json()},
            {"what", violation.what},
            {"told_apart", promise == verify::Promise::exclusion ? Json(violation.fenced) : Json()},
            {"told_in_time",
             promise == verify::Promise::exclusion ? Json(violation.told_in_time) : Json()}};
}

Json to_json(const verify::Figures& figures) {
    return {{"asked", figures.asked},
            {"holds", figures.holds},
            {"found_held", figures.busy},
            {"not_answered", figures.errors},
            {"lost", figures.lost},
            {"lost_standing_still", figures.lost_standing_still},
            {"killed_holding", figures.killed},
            {"wait", to_json(figures.wait)},
            {"hand_off", to_json(figures.hand_off)}};
}

std::string text_of(const Json& json) {
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_of(const std::vector<ResourceInfo>& resources, Detail detail) {
    Json result = Json::array();
    for (const ResourceInfo& resource : resources) {
        result.push_back({{"name", resource.name},
                          {"holders", to_json(resource.holders, detail)},
                          {"waiters", to_json(resource.waiters, detail)}});
    }
    return text_of(result);
}

std::string json_of(const std::vector<StoreInfo>& stores) {
    Json result = Json::array();
    for (const StoreInfo& store : stores) result.push_back(to_json(store));
    return text_of(result);
}

std::string json_of(const Checkup& checkup) {
    Json findings = Json::array();
    for (const Finding& finding : checkup.findings) findings.push_back(to_json(finding));
    return text_of(
        {{"store", checkup.store},
         {"safe", checkup.is_safe()},
         {"findings", findings},
         {"round_trip", to_json(checkup.round_trip)},
         {"pair", to_json(checkup.pair)},
         {"hand_off", to_json(checkup.hand_off)},
         {"clock_ahead_us", checkup.clock_ahead ? Json(checkup.clock_ahead->count()) : Json()}});
}

std::string json_of(const verify::Report& report) {
    const verify::Trial& trial = report.trial;
    Json broken = Json::array();
    for (const verify::Broken& one : report.broken) broken.push_back(to_json(one, trial.begin));
    Json exempt = Json::array();
    for (const verify::Exemption& one : report.exempt) {
        exempt.push_back({{"what", one.what}, {"why", one.why}});
    }
    std::size_t killed = 0;
    for (const verify::Interference& one : trial.interferences) killed += one.killed ? 1 : 0;
    return text_of({{"store", trial.store},
                    {"kept", report.holds()},
                    {"broken", broken},
                    {"not_judged", exempt},
                    {"seed", trial.seed},
                    {"lease_ms", trial.manner.longest_lease.count()},
                    {"clients", trial.clients.size()},
                    {"pauses", trial.interferences.size() - killed},
                    {"kills", killed},
                    {"figures", to_json(report.figures)}});
}

}  // namespace holdfast::cli
