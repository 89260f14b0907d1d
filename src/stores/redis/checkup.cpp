#include "stores/redis/checkup.hpp"

#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/redis_wire.hpp"

namespace holdfast::inline v0::redis {

namespace {

using Settings = std::map<std::string, std::string, std::less<>>;

/// A server that is asked one thing after the other.
class Questioned {
public:
    explicit Questioned(const Address& address) : address_(address), wire_(address, Pushes{}) {}

    Result<Reply> ask(Command command) {
        const auto flight = std::make_shared<Flight<Reply>>(wire_);
        wire_.submit(std::move(command),
                     [flight](Answer answer) { flight->complete(std::move(answer.result)); });
        return Pending<Reply>(flight).get();
    }
    const Address& address() const noexcept { return address_; }

private:
    const Address address_;
    RedisWire wire_;
};

/// What it answers in names and values by turns.
Settings by_turns(const Reply& reply) {
    Settings settings;
    for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
        settings[reply.elements[i].text] = reply.elements[i + 1].text;
    }
    return settings;
}

/// What it answers in lines "name:value".
Settings by_lines(std::string_view text) {
    Settings settings;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find("\r\n"));
        text.remove_prefix(std::min(text.size(), line.size() + 2));
        const std::size_t colon = line.find(':');
        if (colon == line.npos) continue;
        settings[std::string(line.substr(0, colon))] = std::string(line.substr(colon + 1));
    }
    return settings;
}

std::string text_in(const Settings& settings, std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : found->second;
}

double number_in(const Settings& settings, std::string_view name) {
    const std::string text = text_in(settings, name);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

bool is_refused(const Result<Reply>& reply) {
    return !reply.ok() && reply.failure().code == errc::bad_configuration;
}

// --- one server ---

class Examiner {
public:
    Examiner(const Servers& servers, const Pushes& pushes) : servers_(servers), pushes_(pushes) {}

    Result<Examination> examine() {
        const auto failure = examine_all();
        if (failure) return *failure;
        return std::move(examination_);
    }

private:
    using Trouble = std::optional<Failure>;

    Trouble examine_all() {
        switch (servers_.kind) {
            case Servers::Kind::single:
                return examine_server(servers_.named.front());
            case Servers::Kind::sentinel:
                return examine_sentinels();
            case Servers::Kind::cluster:
                break;
        }
        return examine_cluster();
    }

    Trouble examine_server(const Address& address);
    Trouble judge_settings(Questioned& server);
    void judge_memory(const Settings& settings, const Settings& info, const std::string& who);
    void judge_persistence(const Settings& settings, const std::string& who);
    void judge_replicas(const Settings& info, const std::string& who);
    Trouble judge_functions(Questioned& server);
    Trouble judge_channels(Questioned& server);
    Trouble read_clock(Questioned& server);

    Trouble examine_sentinels();
    void judge_sentinels(const Settings& master, const std::string& who);
    Trouble examine_cluster();

    void warn(std::string name, std::string fact, std::string consequence, std::string remedy) {
        examination_.findings.push_back({Severity::warning, std::move(name), std::move(fact),
                                         std::move(consequence), std::move(remedy)});
    }
    void advise(std::string name, std::string fact, std::string consequence, std::string remedy) {
        warn(std::move(name), std::move(fact), std::move(consequence), std::move(remedy));
        examination_.findings.back().severity = Severity::advice;
    }

    const Servers& servers_;
    const Pushes& pushes_;
    Examination examination_;
};

std::optional<Failure> Examiner::examine_server(const Address& address) {
    Questioned server(address);
    if (auto trouble = judge_settings(server)) return trouble;
    if (auto trouble = judge_functions(server)) return trouble;
    if (auto trouble = judge_channels(server)) return trouble;
    return read_clock(server);
}

std::optional<Failure> Examiner::judge_settings(Questioned& server) {
    const std::string who = server.address().shown();
    const auto info = server.ask({"INFO"});
    const auto settings = server.ask(
        {"CONFIG", "GET", "maxmemory", "maxmemory-policy", "save", "appendonly", "appendfsync"});
    for (const auto* const reply : {&info, &settings}) {
        if (!reply->ok() && !is_refused(*reply)) return reply->failure();
    }
    if (!info.ok() || !settings.ok()) {
        advise("redis.untold",
               who + " does not let this user ask for " + (settings.ok() ? "INFO" : "CONFIG GET"),
               "whether it evicts or forgets locks, and has replicas, cannot be told",
               "check as a user with the rights +info and +config|get");
    }
    const Settings told = info.ok() ? by_lines(info.value().text) : Settings{};
    if (info.ok()) judge_replicas(told, who);
    if (!settings.ok()) return std::nullopt;
    const Settings set = by_turns(settings.value());
    judge_memory(set, told, who);
    judge_persistence(set, who);
    return std::nullopt;
}

void Examiner::judge_memory(const Settings& settings, const Settings& info,
                            const std::string& who) {
    const double limit = number_in(settings, "maxmemory");
    if (limit == 0) return;
    const std::string policy = text_in(settings, "maxmemory-policy");
    if (policy != "noeviction") {
        return warn("redis.evicts",
                    who + " evicts keys when its memory is full (maxmemory-policy " + policy + ")",
                    "a lock that is evicted is free while it is held: two hold it until the first "
                    "is told",
                    "maxmemory-policy noeviction, and a server that is no cache");
    }
    constexpr double nearly = 0.9;
    if (number_in(info, "used_memory") < nearly * limit) return;
    warn("redis.full", who + " has used more than nine tenths of its maxmemory",
         "once that is full no lock can be taken", "a larger maxmemory, or fewer other keys");
}

void Examiner::judge_persistence(const Settings& settings, const std::string& who) {
    const bool appends = text_in(settings, "appendonly") == "yes";
    if (!appends) {
        const bool saves = !text_in(settings, "save").empty();
        return warn("redis.forgets",
                    who + (saves ? " saves its data at times only (appendonly no)"
                                 : " does not save its data (appendonly no, save \"\")"),
                    "when it is started again, it has forgotten who holds: two hold a lock until "
                    "the first is told",
                    "appendonly yes, appendfsync always");
    }
    if (text_in(settings, "appendfsync") == "always") return;
    advise("redis.saves_late",
           who + " writes its data to the disk once a second (appendfsync " +
               text_in(settings, "appendfsync") + ")",
           "when the machine crashes, and is back before a lease is over, what was taken in the "
           "last second is forgotten",
           "appendfsync always");
}

void Examiner::judge_replicas(const Settings& info, const std::string& who) {
    const bool asks_them = servers_.node.replicas != Replicas::none;
    const double replicas = number_in(info, "connected_slaves");
    if (replicas == 0 || asks_them) return;
    warn("redis.unconfirmed", who + " has replicas, and the URL asks none of them (replicas=none)",
         "what it answered last, a replica may not have that is promoted: two hold a lock until "
         "the first is told",
         "replicas=majority in the URL (not with layout=plain or redisson)");
}

/// Whether scripts may be functions. One that nobody has makes no difference to anybody.
std::optional<Failure> Examiner::judge_functions(Questioned& server) {
    const auto answer = server.ask({"FCALL", "holdfast_check", "0"});
    if (!is_refused(answer)) return std::nullopt;
    advise("redis.functions", server.address().shown() + " does not let this user call functions",
           "each request is a script that the server finds by its digest, which costs it more, and "
           "is sent again after a restart",
           "+fcall and +function|load for the user");
    return std::nullopt;
}

/// Whether waiters can be told. Nobody listens to what is said there: it is this client's own
/// channel. The one of a client whose reads are tracked is all clients', and nothing is said there.
std::optional<Failure> Examiner::judge_channels(Questioned& server) {
    if (pushes_.channel.empty()) return std::nullopt;
    const auto said =
        pushes_.tracked ? Result<Reply>(Reply{}) : server.ask({"PUBLISH", pushes_.channel, ""});
    // What subscribes can do nothing else any more.
    Questioned listener(server.address());
    const auto heard = listener.ask({"SUBSCRIBE", pushes_.channel});
    for (const auto* const reply : {&said, &heard}) {
        if (!reply->ok() && !is_refused(*reply)) return reply->failure();
    }
    if (said.ok() && heard.ok()) return std::nullopt;
    advise(
        "redis.channels",
        server.address().shown() + " does not let this user " +
            (heard.ok() ? "publish to" : "subscribe to") + " holdfast's channels",
        "waiters cannot be told that it is their turn: they look when what is ahead of them "
        "ends, and with their renewals",
        "+subscribe and +publish for the user, and the channels that docs/stores/redis.md lists");
    return std::nullopt;
}

std::optional<Failure> Examiner::read_clock(Questioned& server) {
    examination_.clock_asked = BootClock::now();
    const auto time = server.ask({"TIME"});
    examination_.clock_told = BootClock::now();
    if (is_refused(time)) return std::nullopt;
    if (!time.ok()) return time.failure();
    Settings parts = by_turns(time.value());
    if (parts.empty()) return std::nullopt;
    const auto& [seconds, microseconds] = *parts.begin();
    const auto whole = std::chrono::seconds{std::stoll(seconds)};
    examination_.server_clock = whole + std::chrono::microseconds{std::stoll(microseconds)};
    return std::nullopt;
}

// --- several ---

std::optional<Failure> Examiner::examine_sentinels() {
    std::optional<Host> master;
    std::optional<Failure> trouble;
    for (const Address& address : servers_.named) {
        Questioned sentinel(address);
        const auto told = sentinel.ask({"SENTINEL", "MASTER", servers_.master});
        if (!told.ok()) {
            trouble = told.failure();
            warn("redis.sentinel_silent", address.shown() + " cannot be asked",
                 "one sentinel less finds a new master: " + trouble->sentence,
                 "start it, or leave it out of the URL");
            continue;
        }
        if (master) continue;
        const Settings settings = by_turns(told.value());
        judge_sentinels(settings, address.shown());
        master =
            Host{text_in(settings, "ip"), static_cast<std::uint16_t>(number_in(settings, "port"))};
    }
    if (!master) return trouble;
    return examine_server(servers_.node.at(*master));
}

void Examiner::judge_sentinels(const Settings& master, const std::string& who) {
    constexpr double enough = 3;
    if (number_in(master, "num-other-sentinels") + 1 < enough) {
        warn("redis.few_sentinels",
             who + " knows of fewer than three sentinels of " + servers_.master,
             "when one of them fails together with the master, nobody makes another one: locks "
             "cannot be taken, and holds are lost",
             "at least three sentinels, on machines of their own");
    }
    if (number_in(master, "num-slaves") > 0) return;
    warn("redis.no_replica", who + " knows of no replica of " + servers_.master,
         "nothing can take the master's place", "at least two replicas");
}

/// [first, last, master, replica...]: see CLUSTER SLOTS.
std::optional<Failure> Examiner::examine_cluster() {
    std::optional<Failure> trouble;
    std::map<std::pair<std::string, std::uint16_t>, std::size_t> replicas;
    for (const Address& address : servers_.named) {
        Questioned node(address);
        const auto slots = node.ask({"CLUSTER", "SLOTS"});
        if (!slots.ok()) {
            trouble = slots.failure();
            continue;
        }
        for (const Reply& row : slots.value().elements) {
            if (row.elements.size() < 3 || row.elements[2].elements.size() < 2) continue;
            const auto& name = row.elements[2].elements[0].text;
            const auto port = static_cast<std::uint16_t>(row.elements[2].elements[1].integer);
            replicas[{name.empty() ? address.host : name, port}] = row.elements.size() - 3;
        }
        break;
    }
    if (replicas.empty() && trouble) return trouble;
    constexpr std::size_t enough = 3;
    if (replicas.size() < enough) {
        warn("redis.few_masters", servers_.shown() + " has fewer than three masters",
             "no majority is left of them when one fails: its locks cannot be taken, and holds are "
             "lost",
             "at least three masters, on machines of their own");
    }
    for (const auto& [place, count] : replicas) {
        const Address master = servers_.node.at({place.first, place.second});
        if (count == 0) {
            warn("redis.no_replica", master.shown() + " has no replica",
                 "nothing can take its place", "at least one replica for each master");
        }
        if (auto failed = examine_server(master)) return failed;
    }
    return std::nullopt;
}

}  // namespace

Result<Examination> examine(const Servers& servers, const Pushes& pushes) {
    return Examiner(servers, pushes).examine();
}

}  // namespace holdfast::inline v0::redis
