#include "stores/mysql/checkup.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::mysql {

const std::string_view examination = R"(
    SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'innodb_deadlock_detect',
        'innodb_flush_log_at_trx_commit', 'wait_timeout', 'max_connections', 'time_zone',
        'system_time_zone', 'read_only');
    SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected',
        'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients');
    SELECT 'clock', CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED);
    SELECT 'user', CURRENT_USER();
    SELECT DISTINCT 'maker', DEFINER FROM information_schema.ROUTINES
    WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME LIKE 'holdfast!_%' ESCAPE '!';
    SELECT 'ends_sleeps', REPLACE(GRANTEE, '''', '') FROM information_schema.USER_PRIVILEGES
    WHERE PRIVILEGE_TYPE IN ('SUPER', 'CONNECTION ADMIN', 'CONNECTION_ADMIN');
    SELECT 'replica', ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%')";

namespace {

using Findings = std::vector<Finding>;

void judge_disk(const sql::Settings& settings, Findings& findings) {
    const std::string flush = settings.text("innodb_flush_log_at_trx_commit");
    if (flush == "1") return;
    findings.push_back({.severity = Severity::warning,
                        .name = "mysql.forgets",
                        .fact = "commits do not wait for the disk (innodb_flush_log_at_trx_commit "
                                "= " +
                                flush + ")",
                        .consequence = "when the machine crashes, who holds may be forgotten: two "
                                       "hold a lock until the first is told",
                        .remedy = "innodb_flush_log_at_trx_commit = 1"});
}

void judge_replicas(const sql::Settings& settings, Findings& findings) {
    const double waited_for = settings.number("Rpl_semi_sync_master_clients") +
                              settings.number("Rpl_semi_sync_source_clients");
    if (waited_for > 0 || settings.all_of("replica").empty()) return;
    findings.push_back({.severity = Severity::warning,
                        .name = "mysql.unconfirmed",
                        .fact = "the server has replicas and waits for none",
                        .consequence = "a lock that was just taken may be missing on the replica "
                                       "that is promoted: two hold it until the first is told",
                        .remedy = "semi-synchronous replication, with "
                                  "rpl_semi_sync_master_wait_point = AFTER_SYNC"});
}

/// Whoever has the right to write all the same is not refused.
void judge_writing(const sql::Settings& settings, Findings& findings) {
    const std::string read_only = settings.text("read_only");
    if (read_only.empty() || read_only == "OFF") return;
    findings.push_back({.severity = Severity::warning,
                        .name = "mysql.read_only",
                        .fact = "the server is one for reading alone (read_only = " + read_only +
                                "), and this user may write there all the same",
                        .consequence = "a replica does not know who holds a lock by its primary: "
                                       "two hold it",
                        .remedy = "the address of the primary, and a user without SUPER and "
                                  "READ_ONLY ADMIN"});
}

void judge_galera(const sql::Settings& settings, Findings& findings) {
    if (settings.text("wsrep_on") != "ON") return;
    findings.push_back(
        {.severity = Severity::advice,
         .name = "mysql.galera",
         .fact = "the server is a node of a Galera cluster",
         .consequence = "nobody can be told across its nodes: waiters look, with their renewals at "
                        "the latest. Leases are counted by the clock of whichever node is asked: "
                        "one that is ahead ends them early",
         .remedy = "shorter leases where hand-offs matter, one node in all URLs, and clocks that "
                   "chrony or ntpd keeps together"});
}

void judge_deadlocks(const sql::Settings& settings, Findings& findings) {
    if (settings.text("innodb_deadlock_detect") != "OFF") return;
    findings.push_back({.severity = Severity::warning,
                        .name = "mysql.deadlocks",
                        .fact = "the server looks for no deadlocks (innodb_deadlock_detect = OFF)",
                        .consequence = "two transactions that wait for each other stand still for "
                                       "a whole request_timeout, and so do renewals behind them",
                        .remedy = "innodb_deadlock_detect = ON"});
}

/// Waiters sleep in the server, and are woken by KILL, with the rights of whoever made the
/// procedures.
void judge_kill(const sql::Settings& settings, Findings& findings) {
    const std::string user = settings.text("user");
    const auto able = settings.all_of("ends_sleeps");
    for (const std::string& maker : settings.all_of("maker")) {
        if (maker == user || std::ranges::find(able, maker) != able.end()) continue;
        std::string fact = "the procedures were made by ";
        fact.append(maker).append(", who is not seen to have the right CONNECTION ADMIN, and ");
        fact.append("are used by ").append(user);
        findings.push_back(
            {.severity = Severity::advice,
             .name = "mysql.kill",
             .fact = std::move(fact),
             .consequence = "who gives a lock back cannot wake the waiters of another user: they "
                            "look when what is ahead of them ends, and with their renewals",
             .remedy = "GRANT CONNECTION ADMIN ON *.* TO " + maker + ", or one user for all"});
    }
}

void judge_connections(const sql::Settings& settings, Findings& findings) {
    constexpr double nearly = 0.9;
    constexpr double short_idleness = 60;
    const double most = settings.number("max_connections");
    if (most > 0 && settings.number("Threads_connected") >= nearly * most) {
        findings.push_back({.severity = Severity::advice,
                            .name = "mysql.connections",
                            .fact = "more than nine tenths of max_connections are in use",
                            .consequence = "a client that gets none cannot lock, nor renew what it "
                                           "holds once it has lost one",
                            .remedy = "a larger max_connections; a client of holdfast has up to "
                                      "six"});
    }
    const double idle = settings.number("wait_timeout");
    if (idle == 0 || idle >= short_idleness) return;
    findings.push_back({.severity = Severity::advice,
                        .name = "mysql.wait_timeout",
                        .fact = "the server ends connections that were idle for " +
                                settings.text("wait_timeout") + " s (wait_timeout)",
                        .consequence = "renewals that are further apart connect anew each time, "
                                       "and a request that meets the end is sent twice",
                        .remedy = "wait_timeout of some minutes at least"});
}

bool is_utc(const std::string& zone) {
    return zone == "UTC" || zone == "+00:00";
}

void judge_zone(const sql::Settings& settings, const std::string& zone, Findings& findings) {
    const std::string set = settings.text("time_zone");
    const std::string servers = set == "SYSTEM" ? settings.text("system_time_zone") : set;
    if (!zone.empty() || is_utc(servers)) return;
    findings.push_back({.severity = Severity::warning,
                        .name = "mysql.zone",
                        .fact = "the server's time zone is " + servers +
                                ", and the URL does not say which one ShedLock's sessions have",
                        .consequence = "moments in its table are local times: where its sessions "
                                       "have another zone, leases are hours too short or too long",
                        .remedy = "zone= in the URL, as ShedLock's sessions have it"});
}

}  // namespace

std::vector<Finding> findings_in(const sql::Settings& settings, sql::Tables tables,
                                 const std::string& zone) {
    Findings findings;
    judge_disk(settings, findings);
    judge_replicas(settings, findings);
    judge_writing(settings, findings);
    judge_galera(settings, findings);
    judge_deadlocks(settings, findings);
    judge_kill(settings, findings);
    judge_connections(settings, findings);
    if (tables == sql::Tables::shedlock) judge_zone(settings, zone, findings);
    return findings;
}

}  // namespace holdfast::inline v0::mysql
