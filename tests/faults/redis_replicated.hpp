#pragma once

#include <string>
#include <vector>

#include "faults/redis_faults.hpp"

namespace holdfast::test {

/// A master and two replicas that follow it, which nobody watches.
class Replicated {
public:
    /// What their command lines begin with: see RedisOptions.
    explicit Replicated(const std::vector<std::string>& under = {})
        : master_(following(nullptr, under)),
          first_(following(&master_, under)),
          second_(following(&master_, under)) {
        await_whole();
    }
    ~Replicated() { resume(); }
    Replicated(const Replicated&) = delete;
    Replicated& operator=(const Replicated&) = delete;

    RedisServer& master() { return master_; }
    RedisServer& first() { return first_; }
    RedisServer& second() { return second_; }
    void pause() const {
        first_.pause();
        second_.pause();
    }
    void resume() const {
        first_.resume();
        second_.resume();
    }
    /// Nothing comes to them any more, also not later: what is in a socket would.
    void cut_off() const {
        pause();
        master_.command({"CLIENT", "KILL", "TYPE", "replica"});
    }
    void cut_off_second() const {
        second_.pause();
        master_.command({"CLIENT", "KILL", "TYPE", "replica"});
    }
    /// It takes the master's place, as sentinels would have it.
    static void promote(RedisServer& replica) {
        replica.resume();
        replica.command({"REPLICAOF", "NO", "ONE"});
        EXPECT_TRUE(await([&] { return replica.is_master(); }));
    }
    bool follows(const RedisServer& replica) const { return master_.is_followed_by(replica); }
    bool has_holder(const std::string& name) const {
        return master_.command({"EXISTS", line_key("holdfast/" + name)}) == "1";
    }

private:
    static RedisOptions following(const RedisServer* master, std::vector<std::string> under) {
        RedisOptions options{
            .settings = {"repl-diskless-sync-delay 0", "repl-ping-replica-period 1"},
            .under = std::move(under)};
        if (master != nullptr) {
            options.settings.push_back("replicaof 127.0.0.1 " + std::to_string(master->port()));
        }
        return options;
    }
    void await_whole() {
        EXPECT_TRUE(await([&] { return follows(first_) && follows(second_); }, 60s));
    }

    RedisServer master_;
    RedisServer first_;
    RedisServer second_;
};

}  // namespace holdfast::test
