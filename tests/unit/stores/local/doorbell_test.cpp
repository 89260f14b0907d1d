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

TEST(Doorbell, RingsUntilSilenced) {
    const ScratchFolder scratch;
    const Folder folder(scratch.path() + "/" + std::string(200, 'x'), 0600);
    const Doorbell ada(folder, 100);
    Doorbell bob(folder, 200);
    EXPECT_FALSE(is_ringing(bob));
    EXPECT_EQ(ada.ring(200), Answer::rung);
    EXPECT_EQ(ada.ring(200), Answer::rung);
    EXPECT_TRUE(is_ringing(bob));
    EXPECT_FALSE(is_ringing(ada));
    bob.silence();
    EXPECT_FALSE(is_ringing(bob));
}

TEST(Doorbell, OfSomebodyGoneIsAnsweredByNobody) {
    const ScratchFolder scratch;
    const Folder folder(scratch.store(), 0600);
    const Doorbell ada(folder, 100);
    { const Doorbell bob(folder, 200); }
    EXPECT_EQ(ada.ring(200), Answer::nobody);
}

TEST(Doorbell, OfOneThatWasKilledIsAnsweredByNobodyAlthoughItsChildLives) {
    const ScratchFolder scratch;
    const Folder folder(scratch.store(), 0600);
    const Doorbell ada(folder, 100);
    ChildProcess owner([&](ChildProcess::Parent parent) {
        const Doorbell bob(folder, 200);
        if (fork() == 0) parent.say(std::to_string(getpid()));
        pause();
    });
    const pid_t grandchild = std::stoi(owner.hear());
    EXPECT_EQ(ada.ring(200), Answer::rung);
    owner.kill();
    EXPECT_EQ(ada.ring(200), Answer::nobody);
    kill(grandchild, SIGKILL);
}

TEST(Doorbell, OfOneThatNeverLooksDoesNotSilenceTheOthers) {
    const ScratchFolder scratch;
    const Folder folder(scratch.store(), 0600);
    const Doorbell ada(folder, 100);
    std::vector<std::unique_ptr<Doorbell>> sleepers;
    for (ledger::ClientId id = 300; id < 500; ++id) {
        sleepers.push_back(std::make_unique<Doorbell>(folder, id));
        for (int i = 0; i < 20; ++i) EXPECT_EQ(ada.ring(id), Answer::rung);
    }
    const Doorbell bob(folder, 200);
    EXPECT_EQ(ada.ring(200), Answer::rung);
    EXPECT_TRUE(is_ringing(bob));
}

}  // namespace
}  // namespace holdfast::local
