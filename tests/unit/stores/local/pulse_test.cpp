#include "stores/local/pulse.hpp"

#include <gtest/gtest.h>

#include "stores/local/process.hpp"
#include "stores/local/registry.hpp"
#include "unit/stores/local/scratch.hpp"

namespace holdfast::local {
namespace {

using namespace std::chrono_literals;
using local_test::ChildProcess;
using local_test::ScratchFolder;

constexpr ClientId ada = 0x1234'5678'9abc'def0;
constexpr ClientId bob = 0xffff'ffff'ffff'fff1;

struct Hall {
    explicit Hall(const std::string& path)
        : folder(path, 0600), file(folder.open_file("control")) {}
    Folder folder;
    Descriptor file;
};

TEST(Pulse, IsSeenByTheProcessItselfAndByOthers) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Pulse pulse(hall.folder.open_file("control"));
    EXPECT_FALSE(anybody_has_pulse(hall.file.get()));
    pulse.start(hall.folder, ada);
    EXPECT_TRUE(anybody_has_pulse(hall.file.get()));
    EXPECT_TRUE(has_pulse(hall.file.get(), ada));
    EXPECT_FALSE(has_pulse(hall.file.get(), bob));
    const ChildProcess other([&](ChildProcess::Parent parent) {
        const Hall own(scratch.store());
        parent.say(has_pulse(own.file.get(), ada) ? "alive" : "free");
    });
    EXPECT_EQ(other.hear(), "alive");
}

TEST(Pulse, IsFreeWhenItsProcessIsKilledAlthoughAForkedChildLivesOn) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    ChildProcess owner([&](ChildProcess::Parent parent) {
        Pulse pulse(hall.folder.open_file("control"));
        pulse.start(hall.folder, ada);
        if (fork() == 0) parent.say(std::to_string(getpid()));
        pause();
    });
    const pid_t grandchild = std::stoi(owner.hear());
    EXPECT_TRUE(has_pulse(hall.file.get(), ada));
    owner.kill();
    EXPECT_FALSE(has_pulse(hall.file.get(), ada));
    EXPECT_EQ(kill(grandchild, 0), 0);
    kill(grandchild, SIGKILL);
}

TEST(Pulse, BarredDoorKeepsOthersOutInBoundedTime) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Pulse first(hall.folder.open_file("control"));
    Pulse second(hall.folder.open_file("control"));
    first.bar_door(hall.folder, 10ms);
    EXPECT_THROW(second.open_door(hall.folder, 10ms), Error);
    first.close_door();
    EXPECT_NO_THROW(second.open_door(hall.folder, 10ms));
    EXPECT_NO_THROW(first.open_door(hall.folder, 10ms));
    EXPECT_THROW(first.bar_door(hall.folder, 10ms), Error);
}

TEST(Liveness, OfAnotherProcessWithTheSamePidIsToldFromItsStartTime) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Pulse pulse(hall.folder.open_file("control"));
    pulse.start(hall.folder, ada);
    Registrant registrant{.id = ada, .process = this_process()};
    const std::uint64_t here = registrant.process.pid_namespace;
    EXPECT_FALSE(is_dead(registrant, hall.file.get(), here));
    // A stray copy keeps the pulse of a process whose pid is another one's now.
    ++registrant.process.start_time;
    EXPECT_TRUE(is_dead(registrant, hall.file.get(), here));
}

TEST(Liveness, AcrossPidNamespacesIsToldByThePulseAlone) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Pulse pulse(hall.folder.open_file("control"));
    pulse.start(hall.folder, ada);
    Registrant registrant{.id = ada, .process = this_process()};
    ++registrant.process.start_time;
    EXPECT_FALSE(is_dead(registrant, hall.file.get(), registrant.process.pid_namespace + 1));
    registrant.id = bob;
    EXPECT_TRUE(is_dead(registrant, hall.file.get(), registrant.process.pid_namespace + 1));
}

TEST(Liveness, SharedWithAWardenLastsAsLongAsThePulse) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Pulse pulse(hall.folder.open_file("control"));
    pulse.start(hall.folder, ada);
    Registrant registrant{.id = ada, .process = this_process(), .dead_when = DeadWhen::pulse_over};
    ++registrant.process.start_time;
    EXPECT_FALSE(is_dead(registrant, hall.file.get(), registrant.process.pid_namespace));
}

TEST(Process, StartTimeIsReadWhateverTheProgramIsCalled) {
    EXPECT_TRUE(start_time_of(getpid()));
    EXPECT_EQ(start_time_of(getpid()), start_time_of(getpid()));
    const ChildProcess child([&](ChildProcess::Parent parent) {
        FILE* const name = fopen("/proc/self/comm", "w");
        fputs("a) R 1 (b", name);
        fclose(name);
        parent.say(std::to_string(start_time_of(getpid()).value_or(0)));
        parent.say(std::to_string(start_time_of(getppid()).value_or(0)));
    });
    EXPECT_GE(std::stoull(child.hear()), start_time_of(getpid()));
    EXPECT_EQ(std::stoull(child.hear()), start_time_of(getpid()));
}

}  // namespace
}  // namespace holdfast::local
