#include "stores/local/doorbell.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "unit/stores/local/scratch.hpp"

namespace holdfast::local {
namespace {

using local_test::ChildProcess;
using local_test::ScratchFolder;
using Answer = Doorbell::Answer;

bool is_ringing(const Doorbell& bell) {
    pollfd readable{.fd = bell.descriptor(), .events = POLLIN, .revents = 0};
    return poll(&readable, 1, 0) == 1;
}

ledger::Told told(ledger::ClientId client, Standing::State state = Standing::State::waiting) {
    ledger::Told one{.client = client, .nonce = {}, .state = state};
    one.nonce.bytes[3] = std::byte{7};
    return one;
}

TEST(Doorbell, RingsUntilAllIsHeard) {
    const ScratchFolder scratch;
    const Folder folder(scratch.path() + "/" + std::string(200, 'x'), 0600);
    Doorbell ada(folder, 100);
    Doorbell bob(folder, 200);
    EXPECT_FALSE(is_ringing(bob));
    EXPECT_EQ(ada.tell(told(200, Standing::State::offered)), Answer::told);
    EXPECT_EQ(ada.tell(told(200)), Answer::told);
    EXPECT_TRUE(is_ringing(bob));
    EXPECT_FALSE(is_ringing(ada));
    const auto heard = bob.hear();
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->client, 200U);
    EXPECT_EQ(heard->nonce, told(200).nonce);
    EXPECT_EQ(heard->state, Standing::State::offered);
    EXPECT_TRUE(bob.hear());
    EXPECT_FALSE(is_ringing(bob));
    EXPECT_FALSE(bob.hear());
}

TEST(Doorbell, OfSomebodyGoneIsAnsweredByNobody) {
    const ScratchFolder scratch;
    const Folder folder(scratch.store(), 0600);
    Doorbell ada(folder, 100);
    { const Doorbell bob(folder, 200); }
    EXPECT_EQ(ada.tell(told(200)), Answer::nobody);
}

TEST(Doorbell, OfOneThatWasKilledIsAnsweredByNobodyAlthoughItsChildLives) {
    const ScratchFolder scratch;
    const Folder folder(scratch.store(), 0600);
    Doorbell ada(folder, 100);
    ChildProcess owner([&](ChildProcess::Parent parent) {
        const Doorbell bob(folder, 200);
        if (fork() == 0) parent.say(std::to_string(getpid()));
        pause();
    });
    const pid_t grandchild = std::stoi(owner.hear());
    EXPECT_EQ(ada.tell(told(200)), Answer::told);
    owner.kill();
    EXPECT_EQ(ada.tell(told(200)), Answer::nobody);
    kill(grandchild, SIGKILL);
}

TEST(Doorbell, OfOneThatNeverLooksDoesNotSilenceTheOthers) {
    const ScratchFolder scratch;
    const Folder folder(scratch.store(), 0600);
    Doorbell ada(folder, 100);
    std::vector<std::unique_ptr<Doorbell>> sleepers;
    for (ledger::ClientId id = 300; id < 500; ++id) {
        sleepers.push_back(std::make_unique<Doorbell>(folder, id));
        while (ada.tell(told(id)) == Answer::told) {
        }
    }
    const Doorbell bob(folder, 200);
    EXPECT_EQ(ada.tell(told(200)), Answer::told);
    EXPECT_TRUE(is_ringing(bob));
}

}  // namespace
}  // namespace holdfast::local
