#include "stores/local/seat.hpp"

#include <gtest/gtest.h>

#include "stores/local/process.hpp"
#include "stores/local/roster.hpp"
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

TEST(Seat, IsSeenByTheProcessItselfAndByOthers) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Seat seat(hall.folder.open_file("control"));
    EXPECT_FALSE(anybody_seated(hall.file.get()));
    seat.take(hall.folder, ada);
    EXPECT_TRUE(anybody_seated(hall.file.get()));
    EXPECT_TRUE(is_seated(hall.file.get(), ada));
    EXPECT_FALSE(is_seated(hall.file.get(), bob));
    const ChildProcess other([&](ChildProcess::Parent parent) {
        const Hall own(scratch.store());
        parent.say(is_seated(own.file.get(), ada) ? "seated" : "free");
    });
    EXPECT_EQ(other.hear(), "seated");
}

TEST(Seat, IsFreeWhenItsProcessIsKilledAlthoughAForkedChildLivesOn) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    ChildProcess owner([&](ChildProcess::Parent parent) {
        Seat seat(hall.folder.open_file("control"));
        seat.take(hall.folder, ada);
        if (fork() == 0) parent.say(std::to_string(getpid()));
        pause();
    });
    const pid_t grandchild = std::stoi(owner.hear());
    EXPECT_TRUE(is_seated(hall.file.get(), ada));
    owner.kill();
    EXPECT_FALSE(is_seated(hall.file.get(), ada));
    EXPECT_EQ(kill(grandchild, 0), 0);
    kill(grandchild, SIGKILL);
}

TEST(Seat, BarredDoorKeepsOthersOutInBoundedTime) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Seat first(hall.folder.open_file("control"));
    Seat second(hall.folder.open_file("control"));
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
    Seat seat(hall.folder.open_file("control"));
    seat.take(hall.folder, ada);
    Member member{.id = ada, .process = this_process()};
    const std::uint64_t here = member.process.pid_namespace;
    EXPECT_FALSE(is_dead(member, hall.file.get(), here));
    // A stray copy keeps the seat of a process whose pid is another one's now.
    ++member.process.start_time;
    EXPECT_TRUE(is_dead(member, hall.file.get(), here));
}

TEST(Liveness, AcrossPidNamespacesIsToldByTheSeatAlone) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Seat seat(hall.folder.open_file("control"));
    seat.take(hall.folder, ada);
    Member member{.id = ada, .process = this_process()};
    ++member.process.start_time;
    EXPECT_FALSE(is_dead(member, hall.file.get(), member.process.pid_namespace + 1));
    member.id = bob;
    EXPECT_TRUE(is_dead(member, hall.file.get(), member.process.pid_namespace + 1));
}

TEST(Liveness, SharedWithAWardenLastsAsLongAsTheSeat) {
    const ScratchFolder scratch;
    const Hall hall(scratch.store());
    Seat seat(hall.folder.open_file("control"));
    seat.take(hall.folder, ada);
    Member member{.id = ada, .process = this_process(), .dead_when = DeadWhen::seat_free};
    ++member.process.start_time;
    EXPECT_FALSE(is_dead(member, hall.file.get(), member.process.pid_namespace));
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
