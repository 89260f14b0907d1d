#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "faults/redis_replicated.hpp"
#include "support/contender.hpp"
#include "support/docs_table.hpp"
#include "support/temporary_folder.hpp"

/// What becomes of a hold, by set-up and fault: the table of docs/stores/redis.md, cell by cell.
namespace holdfast::test {
namespace {

struct Cell {
    std::size_t fault, set_up;
};

// In the order of the table.
enum Fault : std::size_t {
    client_dies,
    client_stands_still,
    machine_dies,
    old_master_goes_on,
    process_restarts,
    clock_goes_forward,
    clock_goes_back,
    ended_by_hand,
    faults
};
enum SetUp : std::size_t { unsaved, every_second, always, none, one, majority, all, set_ups };

constexpr std::array<const char*, faults> names_of_faults{
    "ClientDies",      "ClientStandsStill", "MachineDies",   "OldMasterGoesOn",
    "ProcessRestarts", "ClockGoesForward",  "ClockGoesBack", "EndedByHand"};
constexpr std::array<const char*, set_ups> names_of_set_ups{
    "unsaved", "every_second", "always", "none", "one", "majority", "all"};

/// What the documentation says there. The table's first row and column are names.
std::string documented(const Cell& cell) {
    static const DocsTable table(HOLDFAST_TEST_DOCS "/stores/redis.md",
                                 "## What becomes of a hold");
    return table.cell(cell.fault + 1, cell.set_up + 1);
}

/// One server, or a master with two replicas, whose clock can be set.
class Servers {
public:
    explicit Servers(std::size_t set_up) {
        if (set_up >= none) {
            several_.emplace(with_our_clock());
            parameters_ += std::string("&replicas=") + names_of_set_ups.at(set_up);
        } else {
            alone_.emplace(RedisOptions{.settings = saving(set_up), .under = with_our_clock()});
        }
    }

    RedisServer& server() { return several_ ? several_->master() : *alone_; }
    Replicated& several() { return *several_; }
    std::string url() { return server().url() + parameters_; }
    void set_clock_ahead(int seconds) const {
        std::ofstream(folder_.path() / "new") << seconds;
        std::filesystem::rename(folder_.path() / "new", clock_);
    }
    /// The file that grows with what the server is asked; where it has one.
    std::optional<std::filesystem::path> journal() {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(server().folder())) {
            if (entry.path().string().ends_with(".incr.aof")) return entry.path();
        }
        return std::nullopt;
    }

private:
    std::vector<std::string> with_our_clock() const {
        return {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                "HOLDFAST_TEST_CLOCK=" + clock_.string()};
    }
    static std::vector<std::string> saving(std::size_t set_up) {
        if (set_up == unsaved) return {};
        return {"appendonly yes", set_up == always ? "appendfsync always" : "appendfsync everysec"};
    }

    TemporaryFolder folder_;
    const std::filesystem::path clock_ = folder_.path() / "ahead";
    std::string parameters_ = "?request_timeout=2s";
    std::optional<RedisServer> alone_;
    std::optional<Replicated> several_;
};

class RedisTable : public testing::TestWithParam<Cell> {
protected:
    static constexpr auto lease = 6s;

    Hold acquire() { return ours().mutex("orders", {.lease = lease}).acquire(); }
    /// Has confirmed something before, so it knows how many replicas there are.
    Client& ours() {
        if (!ours_) {
            ours_.emplace(connect(servers_.url()));
            EXPECT_TRUE(await([&] { return is_served(); }));
        }
        return *ours_;
    }
    bool is_served() {
        try {
            return gets_in(*ours_, "invoices");
        } catch (const Error&) {
            return false;
        }
    }
    static bool gets_in(const Client& client, const std::string& name) {
        const auto attempt = client.mutex(name).try_acquire();
        return attempt.has_value();
    }
    /// One who comes to that server after the fault.
    static Client rival(const RedisServer& server) {
        return connect(server.url() + "?request_timeout=30s");
    }

    void expect(const Hold& hold, const RedisServer& server) {
        if (expected_ == "held") return expect_held(hold, server);
        const Client other = rival(server);
        const auto next = other.mutex("orders", {.lease = long_lease}).acquire();
        if (expected_ == "told") {
            EXPECT_FALSE(hold.held());
        } else {
            EXPECT_EQ(expected_, "fenced");
        }
        EXPECT_GT(next.fence(), hold.fence());
    }
    void expect_held(const Hold& hold, const RedisServer& server) {
        EXPECT_FALSE(gets_in(rival(server), "orders"));
        // A renewal after the fault is answered.
        EXPECT_TRUE(await([&] { return hold.remaining() < lease * 3 / 4; }));
        EXPECT_TRUE(await([&] { return hold.remaining() > lease * 3 / 4; }));
        EXPECT_FALSE(gets_in(rival(server), "orders"));
        EXPECT_TRUE(hold.held());
    }
    static void expect_told(const Hold& hold) {
        EXPECT_TRUE(await([&] { return hold.lost().stop_requested(); }));
    }

    void let_its_client_die() {
        Child holder = Contenders(servers_.url()).talker();
        ASSERT_EQ(holder.hear(), "ready");
        const auto fence = fence_in(holder.ask("acquire orders 1000"));
        ASSERT_GT(fence, 0U);
        holder.kill();
        EXPECT_EQ(expected_, "freed");
        EXPECT_GT(rival(servers_.server()).mutex("orders").acquire().fence(), fence);
    }
    void let_its_client_stand_still() {
        Child holder = Contenders(servers_.url()).talker();
        ASSERT_EQ(holder.hear(), "ready");
        const auto fence = fence_in(holder.ask("acquire orders 1000"));
        ASSERT_GT(fence, 0U);
        holder.stop();
        EXPECT_EQ(expected_, "fenced");
        const auto next = rival(servers_.server()).mutex("orders").acquire();
        EXPECT_GT(next.fence(), fence);
        holder.go_on();
        EXPECT_TRUE(holder.ask("await_loss").starts_with("lost"));
    }
    void let_its_machine_die() {
        if (GetParam().set_up >= none) return let_its_master_die();
        const Client& client = ours();
        const auto journal = servers_.journal();
        const auto saved = journal ? std::filesystem::file_size(*journal) : 0;
        const auto hold = client.mutex("orders", {.lease = lease}).acquire();
        servers_.server().kill();
        // What is not on the disk is gone: all that came since, unless it was waited for.
        if (journal && GetParam().set_up != always) std::filesystem::resize_file(*journal, saved);
        servers_.server().restart();
        expect(hold, servers_.server());
        if (expected_ == "fenced") expect_told(hold);
    }
    /// The second replica takes its place, and has not received the hold.
    void let_its_master_die() {
        ours();
        servers_.several().cut_off_second();
        if (expected_ == "refused") return expect_refused();
        const auto hold = acquire();
        servers_.server().kill();
        Replicated::promote(servers_.several().second());
        expect(hold, servers_.several().second());
        expect_told(hold);
    }
    void expect_refused() {
        EXPECT_THROW(acquire(), Error);
        servers_.server().kill();
        Replicated::promote(servers_.several().second());
        EXPECT_TRUE(gets_in(rival(servers_.several().second()), "orders"));
    }
    /// To begin with, as much as the set-up lets happen: the hold is not where others go.
    void let_its_old_master_go_on() {
        ours();
        const bool may_miss_it = GetParam().set_up < majority;
        if (may_miss_it) servers_.several().cut_off_second();
        const auto hold = acquire();
        RedisServer& promoted = servers_.several().second();
        const std::string port = std::to_string(promoted.port());
        Replicated::promote(promoted);
        servers_.several().first().command({"REPLICAOF", "127.0.0.1", port});
        expect(hold, promoted);
        servers_.server().command({"REPLICAOF", "127.0.0.1", port});
        expect_told(hold);
    }
    void let_its_server_restart() {
        const auto hold = acquire();
        servers_.server().kill();
        servers_.server().restart();
        expect(hold, servers_.server());
        if (expected_ == "fenced") expect_told(hold);
    }
    void set_its_clock_forward() {
        const auto hold = acquire();
        servers_.set_clock_ahead(3600);
        expect(hold, servers_.server());
        expect_told(hold);
    }
    void set_its_clock_back() {
        servers_.set_clock_ahead(3600);
        const auto hold = acquire();
        servers_.set_clock_ahead(0);
        expect(hold, servers_.server());
    }
    void end_it_by_hand() {
        const auto hold = acquire();
        EXPECT_TRUE(rival(servers_.server()).break_hold("orders", hold.fence()));
        expect(hold, servers_.server());
        expect_told(hold);
    }

    const std::string expected_ = documented(GetParam());
    Servers servers_{GetParam().set_up};
    std::optional<Client> ours_;
};

TEST_P(RedisTable, IsTrue) {
    switch (static_cast<Fault>(GetParam().fault)) {
        case client_dies:
            return let_its_client_die();
        case client_stands_still:
            return let_its_client_stand_still();
        case machine_dies:
            return let_its_machine_die();
        case old_master_goes_on:
            return let_its_old_master_go_on();
        case process_restarts:
            return let_its_server_restart();
        case clock_goes_forward:
            return set_its_clock_forward();
        case clock_goes_back:
            return set_its_clock_back();
        case ended_by_hand:
            return end_it_by_hand();
        case faults:
            break;
    }
    FAIL() << "no such fault";
}

std::vector<Cell> all_cells() {
    std::vector<Cell> cells;
    for (std::size_t fault = 0; fault < faults; ++fault) {
        for (std::size_t set_up = 0; set_up < set_ups; ++set_up) {
            // One that is alone has nobody to take its place.
            if (fault == old_master_goes_on && set_up < none) continue;
            cells.push_back({fault, set_up});
        }
    }
    return cells;
}

INSTANTIATE_TEST_SUITE_P(Cells, RedisTable, testing::ValuesIn(all_cells()), [](const auto& cell) {
    return std::string(names_of_faults.at(cell.param.fault)) + "_" +
           names_of_set_ups.at(cell.param.set_up);
});

}  // namespace
}  // namespace holdfast::test
