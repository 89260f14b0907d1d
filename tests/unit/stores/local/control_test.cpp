#include "stores/local/control.hpp"

#include <gtest/gtest.h>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "unit/stores/local/scratch.hpp"

namespace holdfast::local {
namespace {

using namespace std::chrono_literals;
using local_test::ChildProcess;
using local_test::first_of_a_namespace;
using local_test::ScratchFolder;

/// A control page as one process has it open.
struct Opened {
    explicit Opened(const std::string& path, std::chrono::milliseconds patience = 2s)
        : folder(path, 0600),
          file(folder.open_file("control")),
          control(folder, file.get(), patience) {
        if (!control.made()) control.start_afresh("this boot");
        control.join(new_registrant());
    }
    Folder folder;
    Descriptor file;
    Control control;
};

TEST(Control, GivesTurnsToOneThreadAtATime) {
    const ScratchFolder scratch;
    Opened opened(scratch.store());
    int counter = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 1000; ++j) {
                const Control::Turn turn(opened.control);
                ++counter;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(counter, 4000);
    EXPECT_EQ(opened.control.page().turnstile.turns, 4000U);
}

TEST(Control, GoesOnAfterAProcessWasKilledInItsTurn) {
    const ScratchFolder scratch;
    Opened opened(scratch.store());
    ChildProcess child([&](ChildProcess::Parent parent) {
        Opened own(scratch.store());
        const Control::Turn turn(own.control);
        parent.say("mine");
        pause();
    });
    ASSERT_EQ(child.hear(), "mine");
    child.kill();
    EXPECT_NO_THROW(const Control::Turn turn(opened.control));
    EXPECT_NO_THROW(const Control::Turn turn(opened.control));
}

/// Two processes that are both process 1, each of a PID namespace of its own: one stays in its
/// turn, the other waits for one. Their thread ids are equal too.
struct TwoFirst {
    explicit TwoFirst(const std::string& path)
        : holder(first_of_a_namespace([&](ChildProcess::Parent parent) {
              Opened own(path);
              const Control::Turn turn(own.control);
              parent.say("mine");
              pause();
          })),
          permitted(holder.hear() == "mine"),
          waiter(first_of_a_namespace([&](ChildProcess::Parent parent) {
              Opened own(path, 60s);
              parent.say("wants it");
              const Control::Turn turn(own.control);
              parent.say("mine");
              pause();
          })) {
        waiter.hear();
    }
    ChildProcess holder;
    bool permitted;
    ChildProcess waiter;
};

TEST(Control, IsNotTakenFromALivingProcessWhenAnotherOfItsNumberIsKilled) {
    const ScratchFolder scratch;
    Opened opened(scratch.store(), 300ms);
    TwoFirst first(scratch.store());
    if (!first.permitted) GTEST_SKIP() << "no PID namespace can be made here";
    while (!Turnstile::awaited(opened.control.page().turnstile)) std::this_thread::yield();
    first.waiter.kill();
    ASSERT_EQ(first.waiter.hear(), "") << "it has ended";
    EXPECT_THROW(const Control::Turn turn(opened.control), Error) << "two are in their turns";
}

TEST(Control, GoesOnAfterAProcessOfAnotherNamespaceWasKilledInItsTurn) {
    const ScratchFolder scratch;
    Opened opened(scratch.store());
    TwoFirst first(scratch.store());
    if (!first.permitted) GTEST_SKIP() << "no PID namespace can be made here";
    first.holder.kill();
    EXPECT_EQ(first.waiter.hear(), "mine");
    first.waiter.kill();
    EXPECT_NO_THROW(const Control::Turn turn(opened.control));
}

TEST(Control, GoesOnAfterAProcessWasKilledInItsTurnAlthoughACopyOfItsDescriptorsLivesOn) {
    const ScratchFolder scratch;
    Opened opened(scratch.store());
    ChildProcess child([&](ChildProcess::Parent parent) {
        Opened own(scratch.store());
        const Control::Turn turn(own.control);
        if (fork() == 0) parent.say(std::to_string(getpid()));
        pause();
    });
    const pid_t copy = std::stoi(child.hear());
    child.kill();
    EXPECT_NO_THROW(const Control::Turn turn(opened.control));
    EXPECT_EQ(kill(copy, SIGKILL), 0);
}

TEST(Control, NamesTheProcessThatWasStoppedInItsTurn) {
    const ScratchFolder scratch;
    Opened opened(scratch.store(), 50ms);
    ChildProcess child([&](ChildProcess::Parent) {
        Opened own(scratch.store());
        const Control::Turn turn(own.control);
        raise(SIGSTOP);
    });
    child.await_stop();
    try {
        const Control::Turn turn(opened.control);
        FAIL() << "got a turn";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::unreachable);
        EXPECT_EQ(error.effect(), Effect::none);
        EXPECT_EQ(error.what(), "local store " + scratch.store() + ": process " +
                                    std::to_string(child.pid()) +
                                    " has held the store's lock for more than 50 ms (stopped?); "
                                    "continue or end it");
    }
    child.signal(SIGCONT);
    EXPECT_EQ(child.hear(), "");  // it has ended
    EXPECT_NO_THROW(const Control::Turn turn(opened.control));
}

TEST(Control, KeepsTheHighestFenceWhenStartedAfresh) {
    const ScratchFolder scratch;
    Opened opened(scratch.store());
    opened.control.page().last_fence = 4711;
    opened.control.page().table_inode = 12;
    opened.control.start_afresh("another boot");
    EXPECT_EQ(opened.control.page().last_fence, 4711U);
    EXPECT_EQ(opened.control.page().table_inode, 0U);
    EXPECT_STREQ(opened.control.page().boot_id, "another boot");
}

TEST(Control, KeepsTheHighestFenceOfOneWhoDiedWhileStartingAfresh) {
    const ScratchFolder scratch;
    {
        Opened opened(scratch.store());
        opened.control.page().last_fence = 4711;
        opened.control.page().magic = 0;
    }
    Opened again(scratch.store());
    EXPECT_EQ(again.control.page().last_fence, 4711U);
}

std::string refusal(const ScratchFolder& scratch) {
    try {
        Opened opened(scratch.store());
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    return {};
}

TEST(Control, OfANewerVersionIsRefused) {
    const ScratchFolder scratch;
    { Opened(scratch.store()).control.page().format = 99; }
    EXPECT_NE(refusal(scratch).find("newer version of holdfast (format 99"), std::string::npos);
}

TEST(Control, OfAnIncompatibleProgramIsRefused) {
    const ScratchFolder scratch;
    { Opened(scratch.store()).control.page().abi = 1; }
    EXPECT_NE(refusal(scratch).find("word size"), std::string::npos);
}

TEST(Control, ThatSomebodyElseWroteIsRefused) {
    const ScratchFolder scratch;
    { Opened(scratch.store()).control.page().magic = 1; }
    EXPECT_NE(refusal(scratch).find("not written by holdfast"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::local
