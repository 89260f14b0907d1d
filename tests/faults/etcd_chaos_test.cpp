#include <cstdlib>
#include <random>

#include "faults/server_faults.hpp"
#include "servers/etcd_cluster.hpp"
#include "support/soak.hpp"

/// Members that fail at random while a lock is contended for: at no time two trust their holds.
namespace holdfast::test {
namespace {

/// Sees every hold, from the moment when it was given until its holder gives it back.
class Umpire {
public:
    void begins(const Hold& hold) {
        const std::lock_guard guard(mutex_);
        ++holds_;
        EXPECT_FALSE(present_ != nullptr && present_->held() && hold.held())
            << "fences " << present_->fence() << " and " << hold.fence();
        EXPECT_GT(hold.fence(), last_fence_);
        last_fence_ = std::max(last_fence_, hold.fence());
        present_ = &hold;
    }
    void ends(const Hold& hold) {
        const std::lock_guard guard(mutex_);
        if (present_ == &hold) present_ = nullptr;
    }
    int holds() const {
        const std::lock_guard guard(mutex_);
        return holds_;
    }

private:
    mutable std::mutex mutex_;
    const Hold* present_ = nullptr;
    std::uint64_t last_fence_ = 0;
    int holds_ = 0;
};

class EtcdChaos : public testing::Test {
protected:
    void contend(const Client& client, const std::stop_token& stop) {
        auto mutex = client.mutex("orders", {.lease = 3s});
        while (!stop.stop_requested()) {
            try {
                Hold hold = mutex.acquire(stop);
                umpire_.begins(hold);
                // As long as some work would take.
                static_cast<void>(await([&] { return !hold.held(); }, 20ms));
                umpire_.ends(hold);
                hold.release();
            } catch (const Error& error) {
                const bool may_be =
                    error.code() == errc::unreachable || error.code() == errc::cancelled;
                EXPECT_TRUE(may_be) << error.what();
            }
        }
    }

    /// One member at a time: there is a majority, or soon will be.
    void disturb(std::mt19937_64& random) {
        EtcdServer& member = cluster_.member(random() % EtcdCluster::size);
        const auto time = std::chrono::milliseconds{200 + random() % 2500};
        const auto kind = random() % 3;
        if (kind == 0) member.kill();
        if (kind == 1) member.pause();
        if (kind == 2) cluster_.cut(member);
        std::this_thread::sleep_for(time);
        if (kind == 0) member.start();
        if (kind == 1) member.resume();
        if (kind == 2) cluster_.heal();
        cluster_.await_whole();
    }

    EtcdCluster cluster_;
    Umpire umpire_;
};

TEST_F(EtcdChaos, NoTwoTrustTheirHoldsAndNobodyIsLeftInLine) {
    const char* const given = std::getenv("HOLDFAST_SEED");
    const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed) + " repeats its disturbances");
    std::mt19937_64 random(seed);
    {
        std::vector<std::jthread> contenders;
        for (int i = 0; i < 6; ++i) {
            contenders.emplace_back([this, client = connect(cluster_.url())](
                                        const std::stop_token& stop) { contend(client, stop); });
        }
        const auto end = Clock::now() + std::chrono::seconds{rounds(10, 60)};
        while (Clock::now() < end) disturb(random);
        // Afterwards it goes on.
        const int before = umpire_.holds();
        EXPECT_TRUE(await([&] { return umpire_.holds() > before + 20; }));
    }
    const auto client = connect(cluster_.url());
    EXPECT_TRUE(await([&] { return !client.look_at("orders"); }));
    RecordProperty("holds", umpire_.holds());
}

}  // namespace
}  // namespace holdfast::test
