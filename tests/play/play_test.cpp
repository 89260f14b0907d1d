#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "play/play.hpp"
#include "play/play_site.hpp"
#include "stores/open_store.hpp"
#include "support/soak.hpp"

/// The same requests to a scripted store and to the model have the same answers.
namespace holdfast::test {
namespace {

constexpr int steps = 100;

std::vector<StoreInPlay> stores_in_play() {
    constexpr auto silent = Fault::silent_offer;
    constexpr auto fence = Fault::repeated_fence;
    constexpr auto lease = Fault::kept_lease;
    constexpr auto weight = Fault::lost_weight;
    return {
#ifdef HOLDFAST_STORE_REDIS
        {"redis", ours_on_redis, {silent, fence, lease, weight}, 60},
        {"redis_plain", plain_on_redis, {fence, lease}, 30},
        {"redis_redisson", redisson_on_redis, {fence, lease}, 30},
#endif
#ifdef HOLDFAST_STORE_POSTGRES
        {"postgres", ours_on_postgres, {silent, fence, lease, weight}, 30},
        {"postgres_shedlock", shedlock_on_postgres, {lease}, 10},
#endif
#ifdef HOLDFAST_STORE_MYSQL
        {"mysql", ours_on_mysql, {silent, fence, lease, weight}, 30},
        {"mysql_shedlock", shedlock_on_mysql, {lease}, 10},
#endif
    };
}

class EachStore : public testing::TestWithParam<StoreInPlay> {
protected:
    /// What went wrong in the first play in which something did. HOLDFAST_SEED names the only one.
    std::string play(Hands hands, int plays) {
        const char* const given = std::getenv("HOLDFAST_SEED");
        const std::uint64_t first = given != nullptr ? std::stoull(given) : first_seed();
        if (given != nullptr) plays = 1;
        const auto store = open_store(site_->url()).store;
        if (site_->rules().in_line) listen(store);
        for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(plays); ++seed) {
            const std::string wrong = Play(seed, *site_, store, hands).run(steps);
            if (!wrong.empty()) {
                return wrong + "\nHOLDFAST_SEED=" + std::to_string(seed) + " repeats it";
            }
        }
        return {};
    }

    std::unique_ptr<PlaySite> site_ = GetParam().make();

private:
    /// The same plays in every run, and others in `./dev soak`, which is to find new ones.
    static std::uint64_t first_seed() {
        return std::getenv("HOLDFAST_SOAK") == nullptr ? 1000 : std::random_device{}();
    }
    /// When a store begins to listen it asks where each of its waiters stands, at a time of its
    /// own.
    void listen(const std::shared_ptr<Store>& store) const {
        Side side(store, site_->rules());
        Contender one{.resource = "listening",
                      .nonce = {},
                      .owner = "first",
                      .fairness = store->capabilities().default_fairness,
                      .lease = std::chrono::minutes{1}};
        one.nonce.bytes[0] = std::byte{1};
        Contender next = one;
        next.nonce.bytes[0] = std::byte{2};
        side.enter({&one, 1});
        side.enter({&next, 1});
        side.leave(one);
        EXPECT_TRUE(side.await_told(next.nonce));
        side.leave(next);
    }
};

TEST_P(EachStore, AnswersAndTellsWhatTheModelDoes) {
    EXPECT_EQ(play(Hands::off, rounds(GetParam().plays, 10 * GetParam().plays)), "");
}

TEST_P(EachStore, KeepsItsPromisesWhileKeysAndRowsAreDeletedByHand) {
    EXPECT_EQ(play(Hands::on, rounds(GetParam().plays, 10 * GetParam().plays) / 2), "");
}

/// Found by the play: they waited in a line that was for nothing.
TEST_P(EachStore, NobodyWaitsForEverWhereAHandDeletedWhatTheResourceIsLike) {
    const auto store = open_store(site_->url()).store;
    Side side(store, site_->rules());
    Contender one{.resource = "orders",
                  .nonce = {},
                  .owner = "somebody",
                  .fairness = store->capabilities().default_fairness,
                  .lease = std::chrono::minutes{10}};
    const auto next = [&] {
        one.nonce.bytes[0] = std::byte(static_cast<int>(one.nonce.bytes[0]) + 1);
        return one;
    };
    const Contender holder = next(), waiter = next(), withdrawn = next(), later = next();
    side.enter({&holder, 1});
    side.enter({&waiter, 1});
    site_->forget(one.resource);
    side.leave_unanswered(withdrawn);
    EXPECT_NE(side.enter({&later, 1}).words.substr(0, 6), "failed");
    side.leave(holder);
    std::vector<Contender> waiting{later, waiter};
    for (int round = 0; round < 3; ++round) {
        site_->clock().advance(std::chrono::milliseconds{10});
        std::erase_if(waiting, [&](const Contender& in_turn) {
            const auto words = side.renew({in_turn}, Extension(one.lease)).words;
            if (words == "admitted ") side.leave(in_turn);
            return words != "waiting ";
        });
    }
    EXPECT_TRUE(waiting.empty());
}

TEST_P(EachStore, IsFoundOutWhenAFaultIsPlantedInIt) {
    for (const Fault fault : GetParam().faults) {
        site_ = GetParam().make();
        site_->plant(fault);
        EXPECT_NE(play(Hands::off, 300), "") << "fault " << static_cast<int>(fault);
    }
}

INSTANTIATE_TEST_SUITE_P(Scripted, EachStore, testing::ValuesIn(stores_in_play()),
                         [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace holdfast::test
