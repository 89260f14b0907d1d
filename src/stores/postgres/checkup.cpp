#include "stores/postgres/checkup.hpp"

#include <algorithm>
#include <string>

namespace holdfast::inline v0::postgres {

/// What a session begins with, and not what ours was given: reset_val.
const std::string_view examination = R"(
    SELECT name || '=' || reset_val FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names',
                   'max_connections');
    SELECT 'schema=' || nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relname = 'holdfast_lines' AND relkind = 'r';
    SELECT 'replica=' || coalesce(sync_state, '') FROM pg_stat_replication;
    SELECT 'connections=' || count(*) FROM pg_stat_activity;
    SELECT 'clock=' || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)";

namespace {

using Findings = std::vector<Finding>;

void judge_disk(const sql::Settings& settings, Findings& findings) {
    for (const char* const name : {"fsync", "full_page_writes"}) {
        if (settings.text(name) != "off") continue;
        findings.push_back(
            {.severity = Severity::warning,
             .name = "postgres.forgets",
             .fact = "the server does not see to it that its data survive a crash (" +
                     std::string(name) + " = off)",
             .consequence = "when the machine crashes, who holds may be forgotten, or the tables "
                            "broken: two hold a lock until the first is told",
             .remedy = std::string(name) + " = on"});
    }
    if (settings.text("synchronous_commit") != "off") return;
    findings.push_back(
        {.severity = Severity::advice,
         .name = "postgres.late_commit",
         .fact = "commits do not wait for the disk (synchronous_commit = off)",
         .consequence = "holdfast's sessions turn it on, so locks survive a crash; what is written "
                        "under them may not",
         .remedy = "synchronous_commit = on for what a lock guards"});
}

void judge_replicas(const sql::Settings& settings, Findings& findings) {
    const auto replicas = settings.all_of("replica");
    if (replicas.empty()) return;
    const auto waited_for = [](const std::string& state) {
        return state == "sync" || state == "quorum";
    };
    const std::string commit = settings.text("synchronous_commit");
    const bool waits = commit != "off" && commit != "local";
    if (waits && std::ranges::any_of(replicas, waited_for)) return;
    findings.push_back(
        {.severity = Severity::warning,
         .name = "postgres.unconfirmed",
         .fact = waits
                     ? "the server has replicas and waits for none (synchronous_standby_names)"
                     : "commits do not wait for the replicas (synchronous_commit = " + commit + ")",
         .consequence = "a lock that was just taken may be missing on the replica that is "
                        "promoted: two hold it until the first is told",
         .remedy = "synchronous_standby_names = 'ANY 1 (*)', synchronous_commit = on, and promote "
                   "only who has confirmed"});
}

void judge_schemas(const sql::Settings& settings, Findings& findings) {
    const auto schemas = settings.all_of("schema");
    if (schemas.size() < 2) return;
    std::string names;
    for (const std::string& schema : schemas) names += (names.empty() ? "" : ", ") + schema;
    findings.push_back({.severity = Severity::warning,
                        .name = "postgres.schemas",
                        .fact = "there are tables of holdfast in several schemas: " + names,
                        .consequence = "users of one do not exclude those of another",
                        .remedy = "one schema= in all URLs of the database, and drop the tables in "
                                  "the others while nobody uses them"});
}

void judge_connections(const sql::Settings& settings, Findings& findings) {
    constexpr double nearly = 0.9;
    const double most = settings.number("max_connections");
    if (most == 0 || settings.number("connections") < nearly * most) return;
    findings.push_back({.severity = Severity::advice,
                        .name = "postgres.connections",
                        .fact = "more than nine tenths of max_connections are in use",
                        .consequence = "a client that gets none cannot lock, nor renew what it "
                                       "holds once it has lost one",
                        .remedy = "a larger max_connections; a client of holdfast has up to six"});
}

}  // namespace

std::vector<Finding> findings_in(const sql::Settings& settings) {
    Findings findings;
    judge_disk(settings, findings);
    judge_replicas(settings, findings);
    judge_schemas(settings, findings);
    judge_connections(settings, findings);
    return findings;
}

}  // namespace holdfast::inline v0::postgres
