#include "servers/redis_cluster.hpp"

#include <set>
#include <sstream>
#include <stdexcept>

#include "servers/texts.hpp"
#include "support/await.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr int slots = 16'384;

/// The bus of a node has a port of its own, which must be free as well.
RedisOptions options_of(const std::vector<std::string>& settings, int bus_port) {
    RedisOptions options{.settings = {"cluster-enabled yes", "cluster-node-timeout 1000",
                                      "cluster-port " + std::to_string(bus_port),
                                      "repl-diskless-sync-delay 0", "repl-ping-replica-period 1"}};
    options.settings.insert(options.settings.end(), settings.begin(), settings.end());
    return options;
}

void expect_ok(const std::string& answer, const std::string& what) {
    if (answer != "OK") throw std::runtime_error(what + ": " + answer);
}

}  // namespace

RedisCluster::RedisCluster(const std::vector<std::string>& settings) {
    for (std::size_t i = 0; i < size; ++i) {
        servers_.push_back(std::make_unique<RedisServer>(
            options_of(settings, bus_ports_.emplace_back().number())));
    }
    configure();
    await_whole();
}

void RedisCluster::configure() const {
    const RedisServer& first = *servers_.front();
    for (std::size_t i = 0; i < size; ++i) {
        const RedisServer& one = *servers_[i];
        // Otherwise they would agree on it one by one, each in its own time.
        expect_ok(one.command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}), "epoch");
        if (i == 0) continue;
        expect_ok(first.command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(one.port()),
                                 std::to_string(bus_ports_[i].number())}),
                  "meet");
    }
    for (std::size_t i = 0; i < masters; ++i) {
        const auto begin = static_cast<int>(i) * slots / static_cast<int>(masters);
        const auto end = static_cast<int>(i + 1) * slots / static_cast<int>(masters) - 1;
        expect_ok(servers_[i]->command(
                      {"CLUSTER", "ADDSLOTSRANGE", std::to_string(begin), std::to_string(end)}),
                  "slots");
    }
    for (std::size_t i = masters; i < size; ++i) {
        const std::string master = id_of(*servers_[i - masters]);
        const auto follows = [&] {
            return servers_[i]->command({"CLUSTER", "REPLICATE", master}) == "OK";
        };
        if (!await(follows)) throw std::runtime_error("a node of the cluster has no master");
    }
}

std::string RedisCluster::url(const std::string& parameters) const {
    std::string all;
    for (const auto& server : servers_) all += (all.empty() ? "" : ",") + server->address();
    return "redis+cluster://" + all + (parameters.empty() ? "" : "?" + parameters);
}

int RedisCluster::slot_of(const std::string& key) const {
    return std::stoi(ask_resp(servers_.front()->port(), {"CLUSTER", "KEYSLOT", key}).value());
}

RedisServer& RedisCluster::server_of_slot(int slot) {
    RedisServer* found = nullptr;
    int claims = 0;
    const auto is_there = [&] {
        claims = 0;
        for (const auto& server : servers_) {
            if (!server->runs()) continue;
            // What it says of itself. Two may say so until they have heard of each other.
            std::istringstream lines(server->command({"CLUSTER", "NODES"}));
            for (std::string line; std::getline(lines, line);) {
                if (line.find("myself,master") == std::string::npos) continue;
                if (!has_slot(line, slot)) continue;
                found = server.get();
                ++claims;
            }
        }
        return claims == 1;
    };
    if (!await(is_there)) {
        throw std::runtime_error(std::to_string(claims) + " nodes say that they serve slot " +
                                 std::to_string(slot) + views());
    }
    return *found;
}

/// Of the whole, as each node has it.
std::string RedisCluster::views() const {
    std::string views;
    for (const auto& server : servers_) {
        if (!server->runs()) continue;
        views += "\n" + server->address() + ":\n" + server->command({"CLUSTER", "NODES"}) +
                 server->command({"CLUSTER", "INFO"});
    }
    return views;
}

/// "id address flags master ping pong epoch link slot first-last [slot->-id]"
bool RedisCluster::has_slot(const std::string& line, int slot) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 8; ++i) words >> word;
    while (words >> word) {
        if (word.front() == '[') continue;
        const auto dash = word.find('-');
        const int first = std::stoi(word.substr(0, dash));
        const int last = dash == std::string::npos ? first : std::stoi(word.substr(dash + 1));
        if (first <= slot && slot <= last) return true;
    }
    return false;
}

RedisServer& RedisCluster::server_of(const std::string& key) {
    return server_of_slot(slot_of(key));
}

void RedisCluster::move_slot(const std::string& key, RedisServer& to) {
    move_slot(slot_of(key), to);
}

void RedisCluster::move_slot(int slot, RedisServer& to) {
    RedisServer& from = server_of_slot(slot);
    if (&from == &to) return;
    begin_moving(slot, from, to);
    move_keys(slot, from, to);
    end_moving(slot, from, to);
}

void RedisCluster::begin_moving(int slot, RedisServer& from, RedisServer& to) {
    const std::string number = std::to_string(slot);
    // Right after another move they may not know of it yet.
    std::string answers;
    const auto are_told = [&] {
        const auto importing = to.command({"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(from)});
        const auto migrating = from.command({"CLUSTER", "SETSLOT", number, "MIGRATING", id_of(to)});
        answers = importing + ", " + migrating;
        return importing == "OK" && migrating == "OK";
    };
    if (!await(are_told)) throw std::runtime_error("slot " + number + ": " + answers);
}

void RedisCluster::move_keys(int slot, RedisServer& from, RedisServer& to) {
    for (;;) {
        std::string keys = from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "1"});
        keys = keys.substr(1, keys.size() - 2);
        if (keys.empty()) return;
        const std::string answer =
            from.command({"MIGRATE", "127.0.0.1", std::to_string(to.port()), keys, "0", "5000"});
        if (answer != "OK" && answer != "NOKEY") throw std::runtime_error("migrate: " + answer);
    }
}

/// First where it goes to: from then on there is always one that serves it.
void RedisCluster::end_moving(int slot, RedisServer& from, RedisServer& to) {
    const std::string number = std::to_string(slot);
    for (const RedisServer* one : {&to, &from}) {
        expect_ok(one->command({"CLUSTER", "SETSLOT", number, "NODE", id_of(to)}), "setslot");
    }
    // Another move before all have heard of this one could leave the slot to nobody.
    if (!await([&] { return all_agree_on(slot, id_of(to)); })) {
        throw std::runtime_error("the nodes do not agree on slot " + number + views());
    }
}

bool RedisCluster::all_agree_on(int slot, const std::string& owner) const {
    std::set<std::string> epochs;
    for (const auto& server : servers_) {
        if (!server->runs()) continue;
        epochs.insert(
            value_in(server->command({"CLUSTER", "INFO"}), "cluster_current_epoch", ":").value());
        std::istringstream lines(server->command({"CLUSTER", "NODES"}));
        for (std::string line; std::getline(lines, line);) {
            if (has_slot(line, slot) != line.starts_with(owner)) return false;
        }
    }
    return epochs.size() == 1;
}

void RedisCluster::flush() {
    for (const auto& server : servers_) {
        if (server->is_master()) server->flush();
    }
}

void RedisCluster::await_whole() {
    const auto is_whole = [&] {
        for (const auto& server : servers_) {
            if (!server->runs()) continue;
            const std::string info = server->command({"CLUSTER", "INFO"});
            if (info.find("cluster_state:ok") == std::string::npos ||
                info.find("cluster_known_nodes:" + std::to_string(size)) == std::string::npos ||
                info.find("cluster_slots_ok:" + std::to_string(slots)) == std::string::npos) {
                return false;
            }
            const std::string role = server->command({"ROLE"});
            if (role.starts_with("[slave") && role.find("connected, ") == std::string::npos) {
                return false;
            }
        }
        return true;
    };
    if (!await(is_whole, 60s)) {
        throw std::runtime_error("the cluster does not settle" + views());
    }
}

}  // namespace holdfast::test
