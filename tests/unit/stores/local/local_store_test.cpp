#include "stores/local/local_store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>

#include "stores/local/control.hpp"
#include "stores/local/environment.hpp"
#include "unit/stores/local/scratch.hpp"

namespace holdfast::local {
namespace {

using namespace std::chrono_literals;
using local_test::ChildProcess;
using local_test::contender;
using local_test::make_small;
using local_test::ScratchFolder;
using State = Standing::State;

std::shared_ptr<Store> open(const ScratchFolder& scratch) {
    return open_local({.folder = scratch.store()});
}

Entry enter(Store& store, const Contender& one) {
    auto result = store.enter({&one, 1}).get();
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.failure().sentence);
    return result.ok() ? result.value().back() : Entry{};
}

Standing renew(Store& store, const Ticket& ticket) {
    return store.renew({&ticket, 1}, 30s).get().value().front();
}

/// What was told about a ticket, waited for on the test's own thread.
class Listener {
public:
    Listener(Store& store, const Ticket& ticket)
        : store_(store), watch_(store.watch(ticket, [this](Standing standing) {
              heard_.push_back(standing.state);
              store_.wire().signal(waiter_);
          })) {}

    bool hears(State state) {
        const Moment limit = BootClock::now() + 20s;
        while (std::ranges::find(heard_, state) == heard_.end()) {
            if (!store_.wire().wait(waiter_, limit)) return false;
        }
        return true;
    }

private:
    Store& store_;
    Wire::Waiter waiter_;
    std::vector<State> heard_;
    std::unique_ptr<Watch> watch_;
};

std::vector<std::string> files(const ScratchFolder& scratch, std::string_view start) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.store())) {
        const std::string name = entry.path().filename();
        if (name.starts_with(start)) names.push_back(name);
    }
    return names;
}

/// Another process that holds "jobs" until it is killed.
ChildProcess holder(const ScratchFolder& scratch) {
    return ChildProcess([&](ChildProcess::Parent parent) {
        const auto store = open(scratch);
        const Entry entry = enter(*store, contender("jobs", 1));
        parent.say(entry.standing.state == State::admitted ? "holds" : "does not hold");
        pause();
    });
}

TEST(LocalStore, TellsAllOfAProcessThatHasYetToHearOfMoreThanFitsItsDoorbell) {
    constexpr std::size_t lines = 700;  // a socket's queue takes 10, or 512
    const ScratchFolder scratch;
    const auto ada = open(scratch);
    const auto bob = open(scratch);
    std::vector<Ticket> held;
    std::vector<std::unique_ptr<Listener>> listeners;
    for (std::size_t i = 0; i < lines; ++i) {
        const std::string line = "line" + std::to_string(i);
        held.push_back(enter(*ada, contender(line, 1)).ticket);
        const Entry waiter = enter(*bob, contender(line, static_cast<int>(2 + i)));
        listeners.push_back(std::make_unique<Listener>(*bob, waiter.ticket));
    }
    for (const Ticket& ticket : held) EXPECT_TRUE(ada->leave(ticket).get().ok());
    for (const auto& listener : listeners) ASSERT_TRUE(listener->hears(State::offered));
}

TEST(LocalStore, TellsAWaiterOfTheSameClientBeforeTheVerbReturns) {
    const ScratchFolder scratch;
    const auto store = open(scratch);
    const Entry first = enter(*store, contender("jobs", 1));
    const Entry second = enter(*store, contender("jobs", 2));
    State told = State::waiting;
    const auto watch = store->watch(second.ticket, [&](Standing now) { told = now.state; });
    EXPECT_TRUE(store->leave(first.ticket).get().ok());
    EXPECT_EQ(told, State::offered);
}

TEST(LocalStore, TellsAWatchWhatHappenedBeforeIt) {
    const ScratchFolder scratch;
    const auto ada = open(scratch);
    const auto bob = open(scratch);
    const Entry first = enter(*ada, contender("jobs", 1));
    const Entry second = enter(*bob, contender("jobs", 2));
    EXPECT_TRUE(ada->leave(first.ticket).get().ok());
    Listener listener(*bob, second.ticket);
    EXPECT_TRUE(listener.hears(State::offered));
}

TEST(LocalStore, PassesThePlaceOfAKilledHolderOnAtOnce) {
    const ScratchFolder scratch;
    const auto store = open(scratch);
    ChildProcess other = holder(scratch);
    ASSERT_EQ(other.hear(), "holds");
    const Entry entry = enter(*store, contender("jobs", 2));
    ASSERT_EQ(entry.standing.state, State::waiting);
    Listener listener(*store, entry.ticket);
    const Moment killed = BootClock::now();
    other.signal(SIGKILL);
    ASSERT_TRUE(listener.hears(State::offered));
    EXPECT_EQ(renew(*store, entry.ticket).state, State::admitted);
    // The lease is 30 s.
    EXPECT_LT(BootClock::now() - killed, 5s);
    EXPECT_EQ(files(scratch, "bell.").size(), 1U);
}

/// Takes all descriptors that this process may still open.
class NoDescriptorLeft {
public:
    NoDescriptorLeft() {
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit small = before_;
        small.rlim_cur = 128;
        setrlimit(RLIMIT_NOFILE, &small);
        while (true) {
            const int taken = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (taken < 0) break;
            taken_.push_back(taken);
        }
    }
    ~NoDescriptorLeft() {
        for (const int taken : taken_) ::close(taken);
        setrlimit(RLIMIT_NOFILE, &before_);
    }

private:
    rlimit before_{};
    std::vector<int> taken_;
};

TEST(LocalStore, TakesNoHolderForDeadBecauseItCannotLook) {
    const ScratchFolder scratch;
    const auto store = open(scratch);
    ChildProcess other = holder(scratch);
    ASSERT_EQ(other.hear(), "holds");
    // A sanitizer needs a descriptor for what it sees for the first time.
    EXPECT_EQ(enter(*store, contender("jobs", 1, Patience::none)).standing.state, State::gone);
    {
        const NoDescriptorLeft none;
        EXPECT_EQ(enter(*store, contender("jobs", 2, Patience::none)).standing.state, State::gone);
    }
    EXPECT_EQ(enter(*store, contender("jobs", 3, Patience::none)).standing.state, State::gone);
    other.kill();
    EXPECT_EQ(enter(*store, contender("jobs", 4, Patience::none)).standing.state, State::admitted);
}

TEST(LocalStore, TellsTheNextOneWithNoDescriptorLeft) {
    const ScratchFolder scratch;
    const auto ada = open(scratch);
    const auto bob = open(scratch);
    const Entry first = enter(*ada, contender("jobs", 1));
    const Entry second = enter(*bob, contender("jobs", 2));
    Listener listener(*bob, second.ticket);
    {
        const NoDescriptorLeft none;
        EXPECT_TRUE(ada->leave(first.ticket).get().ok());
    }
    EXPECT_TRUE(listener.hears(State::offered));
}

/// Another process that holds "jobs", and when it is told to (SIGUSR1) stands in as many lines as
/// there is room for.
ChildProcess holder_that_fills(const ScratchFolder& scratch) {
    return ChildProcess([&](ChildProcess::Parent parent) {
        sigset_t told;
        sigemptyset(&told);
        sigaddset(&told, SIGUSR1);
        sigprocmask(SIG_BLOCK, &told, nullptr);
        const auto store = open(scratch);
        const Entry entry = enter(*store, contender("jobs", 1));
        parent.say(entry.standing.state == State::admitted ? "holds" : "does not hold");
        int number = 0;
        sigwait(&told, &number);
        for (std::uint64_t i = 2;; ++i) {
            Contender one = contender("line" + std::to_string(i), i);
            one.owner = std::string(200, 'o');
            if (!store->enter({&one, 1}).get().ok()) break;
        }
        parent.say("full");
        pause();
    });
}

/// How often this thread has slept. On a busy machine its time on the processor tells little.
long times_asleep() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

/// A dead client that stands in many lines cannot be buried without room.
TEST(LocalStore, WithoutRoomToBuryTheDeadAnswersAndRests) {
    const ScratchFolder scratch;
    const ChildProcess child([&](ChildProcess::Parent parent) {
        alarm(60);
        const bool mounted = make_small(scratch.path()) == "mounted";
        const auto store = open(scratch);
        ChildProcess other = holder_that_fills(scratch);
        parent.say(other.hear());
        const Entry entry = enter(*store, contender("jobs", 2));
        Listener listener(*store, entry.ticket);
        other.signal(SIGUSR1);
        parent.say(other.hear());
        other.kill();
        parent.say(listener.hears(State::waiting) ? "told" : "not told");
        // Whoever waits for something else leads meanwhile.
        Wire::Waiter waiter;
        const long before = times_asleep();
        store->wire().wait(waiter, BootClock::now() + 2s);
        parent.say(times_asleep() - before >= 4 ? "rests" : "spins");
        const auto again = contender("jobs", 3, Patience::none);
        const auto tried = store->enter({&again, 1}).get();
        parent.say(tried.ok() && tried.value().back().standing.state == State::gone ? "busy"
                                                                                    : "not busy");
        if (!mounted) return parent.say("cannot be given room");
        mount("none", scratch.path().c_str(), nullptr, MS_REMOUNT, "size=16m");
        parent.say(listener.hears(State::offered) ? "offered" : "not offered");
    });
    ASSERT_EQ(child.hear(), "holds");
    ASSERT_EQ(child.hear(), "full");
    EXPECT_EQ(child.hear(), "told");
    EXPECT_EQ(child.hear(), "rests");
    EXPECT_EQ(child.hear(), "busy");
    const std::string end = child.hear();
    EXPECT_TRUE(end == "offered" || end == "cannot be given room") << end;
}

TEST(LocalStore, WhoseHolderDiedUnseenIsNotListedWithIt) {
    const ScratchFolder scratch;
    const auto store = open(scratch);
    ChildProcess other = holder(scratch);
    ASSERT_EQ(other.hear(), "holds");
    EXPECT_EQ(store->inspect("").get().value().size(), 1U);
    other.kill();
    EXPECT_TRUE(store->inspect("").get().value().empty());
}

TEST(LocalStore, BuriesTheDeadWhenItIsOpened) {
    const ScratchFolder scratch;
    ChildProcess other = holder(scratch);
    ASSERT_EQ(other.hear(), "holds");
    other.kill();
    EXPECT_EQ(files(scratch, "bell.").size(), 1U);
    const auto store = open(scratch);
    EXPECT_EQ(files(scratch, "bell.").size(), 1U);
    EXPECT_EQ(enter(*store, contender("jobs", 2)).standing.state, State::admitted);
}

/// What the clients of a store share, for a test to look at and change.
class Inside {
public:
    explicit Inside(const ScratchFolder& scratch) : folder_(scratch.store(), 0600) {}

    Control& control() { return control_; }
    ControlPage& page() { return control_.page(); }
    template <class Work>
    void transact(Work work) {
        control_.join(new_registrant());
        Environment(folder_, control_).transact(work);
    }

private:
    const Folder folder_;
    const Descriptor file_ = folder_.open_file("control");
    Control control_{folder_, file_.get(), 2s};
};

/// As clients that were killed have left it.
void enroll_dead(const ScratchFolder& scratch, std::size_t count) {
    Inside(scratch).transact([&](Table& table) {
        for (std::size_t i = 0; i < count; ++i) enroll(table, new_registrant());
    });
}

std::size_t enrolled(const ScratchFolder& scratch) {
    std::size_t count = 0;
    Inside(scratch).transact([&](Table& table) { count = all_registrants(table).size(); });
    return count;
}

TEST(LocalStore, LooksAtFewOthersWhenItIsOpenedHoweverManyThereAre) {
    const ScratchFolder scratch;
    const auto keeps_it = open(scratch);
    enroll_dead(scratch, 1000);
    open(scratch).reset();
    const std::size_t left = enrolled(scratch);
    EXPECT_GE(left, 1000U - 10);
    EXPECT_LT(left, 1000U) << "the dead must not become more and more";
}

TEST(LocalStore, FindsTheDeadWhoeverComesAfterItInTheRegistry) {
    const ScratchFolder scratch;
    const auto keeps_it = open(scratch);
    enroll_dead(scratch, 4);
    open(scratch).reset();
    EXPECT_EQ(enrolled(scratch), 1U);
}

TEST(LocalStore, LeavesAllLinesAndTheFolderWhenItIsClosed) {
    const ScratchFolder scratch;
    const auto ada = open(scratch);
    auto bob = open(scratch);
    enter(*bob, contender("jobs", 1));
    const Entry waiting = enter(*ada, contender("jobs", 2));
    Listener listener(*ada, waiting.ticket);
    bob.reset();
    EXPECT_TRUE(listener.hears(State::offered));
    EXPECT_EQ(files(scratch, "bell.").size(), 1U);
}

TEST(LocalStore, IsInertInAForkedChild) {
    const ScratchFolder scratch;
    auto store = open(scratch);
    const Entry entry = enter(*store, contender("jobs", 1));
    auto watch = store->watch(entry.ticket, [](Standing) {});
    {
        const ChildProcess child([&](ChildProcess::Parent parent) {
            const auto left = store->leave(entry.ticket).get();
            parent.say(!left.ok() && left.failure().code == errc::inherited ? "inert" : "alive");
            watch.reset();
            store.reset();
            const auto own = open(scratch);
            const Entry busy = enter(*own, contender("jobs", 2, Patience::none));
            parent.say(busy.standing.state == State::gone ? "busy" : "free");
            pause();
        });
        EXPECT_EQ(child.hear(), "inert");
        EXPECT_EQ(child.hear(), "busy");
    }
    EXPECT_EQ(files(scratch, "bell.").size(), 2U) << "the child's own is left, as it was killed";
    EXPECT_EQ(store->leave(entry.ticket).get().value().state, State::admitted);
}

TEST(LocalStore, FailsInBoundedTimeNamingAStoppedProcess) {
    const ScratchFolder scratch;
    const auto store =
        open_local({.folder = scratch.store(), .mode = 0600, .request_timeout = 50ms});
    const ChildProcess child([&](ChildProcess::Parent) {
        Inside inside(scratch);
        inside.control().join(new_registrant());
        const Control::Turn turn(inside.control());
        raise(SIGSTOP);
    });
    child.await_stop();
    const Contender one = contender("jobs", 1);
    const auto result = store->enter({&one, 1}).get();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().code, errc::unreachable);
    EXPECT_EQ(result.failure().effect, Effect::none);
    EXPECT_NE(result.failure().sentence.find("process " + std::to_string(child.pid())),
              std::string::npos);
    child.signal(SIGCONT);
    child.hear();
    EXPECT_EQ(enter(*store, one).standing.state, State::admitted);
}

TEST(LocalStore, OfAGroupHasBellsThatTheGroupMayRingWhetherOrNotAModeWasNamed) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
    const ScratchFolder scratch;
    chmod(scratch.path().c_str(), 0755);
    mkdir(scratch.store().c_str(), 0700);
    ASSERT_EQ(chown(scratch.store().c_str(), 0, local_test::shared_group), 0);
    chmod(scratch.store().c_str(), 0770);
    const ChildProcess member([&](ChildProcess::Parent parent) {
        if (!local_test::become_member(1001)) return parent.say("not permitted");
        const auto own = open_local({.folder = scratch.store()});
        const Entry entry = enter(*own, contender("jobs", 1));
        parent.say(entry.standing.state == State::admitted ? "holds" : "does not hold");
        pause();
    });
    ASSERT_EQ(member.hear(), "holds");
    const auto bells = files(scratch, "bell.");
    ASSERT_EQ(bells.size(), 1U);
    struct stat bell {};
    stat((scratch.store() + "/" + bells.front()).c_str(), &bell);
    EXPECT_EQ(bell.st_mode & 07777U, 0660U);
    EXPECT_EQ(bell.st_gid, local_test::shared_group) << "others in the group could not ring it";
}

/// Makes the store look as if it had been left by another boot, with a fence of the far future.
void pretend_reboot(const ScratchFolder& scratch, std::uint64_t last_fence) {
    Inside inside(scratch);
    inside.page().boot_id[0] = '?';
    inside.page().last_fence = last_fence;
    // As a process that ran when the machine went down has left it.
    inside.page().turnstile.inside = 4711;
}

TEST(LocalStore, StartsAfreshAfterARebootAndItsFencesRise) {
    const ScratchFolder scratch;
    constexpr std::uint64_t high = (std::uint64_t{1} << 53) - 1000;
    open(scratch).reset();
    const auto inode = Folder(scratch.store(), 0600).inode_of(table_file);
    // Keeps the number from being given again.
    const Descriptor old(::open((scratch.store() + "/" + table_file).c_str(), O_RDONLY));
    { const Descriptor bell(creat((scratch.store() + "/bell.0123").c_str(), 0600)); }
    ChildProcess([&](ChildProcess::Parent) { pretend_reboot(scratch, high); }).hear();
    const auto store = open(scratch);
    EXPECT_NE(Folder(scratch.store(), 0600).inode_of(table_file), inode);
    EXPECT_EQ(files(scratch, "bell.").size(), 1U);
    EXPECT_GT(enter(*store, contender("jobs", 1)).standing.fence, high);
}

TEST(LocalStore, OfAnotherBootIdIsLeftAloneWhileSomebodyUsesIt) {
    const ScratchFolder scratch;
    const auto ada = open(scratch);
    enter(*ada, contender("jobs", 1));
    Inside(scratch).page().boot_id[0] = '?';
    const auto bob = open(scratch);
    EXPECT_EQ(enter(*bob, contender("jobs", 2, Patience::none)).standing.state, State::gone);
}

/// The sentence of the refusal to open it.
std::string refusal_of(const ScratchFolder& scratch) {
    try {
        open(scratch);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::bad_configuration);
        return error.what();
    }
    return "it was opened";
}

TEST(LocalStore, OfAnotherTimeNamespaceIsRefusedWhileSomebodyUsesItAndThenStartedAfresh) {
    const ScratchFolder scratch;
    auto ada = open(scratch);
    const auto before = enter(*ada, contender("jobs", 1)).standing.fence;
    // As if the processes that have it open were in another one.
    ++Inside(scratch).page().time_namespace;
    EXPECT_NE(refusal_of(scratch).find("another time namespace"), std::string::npos);
    ada.reset();
    EXPECT_GT(enter(*open(scratch), contender("jobs", 2)).standing.fence, before);
}

/// Makes the store look as an older version has left it.
void pretend_older_version(const ScratchFolder& scratch) {
    Inside(scratch).page().format = 1;
}

TEST(LocalStore, OfAnOlderVersionIsStartedAfreshAndItsFencesRise) {
    const ScratchFolder scratch;
    auto store = open(scratch);
    const auto before = enter(*store, contender("jobs", 1)).standing.fence;
    store.reset();
    pretend_older_version(scratch);
    store = open(scratch);
    EXPECT_GT(enter(*store, contender("jobs", 2)).standing.fence, before);
}

TEST(LocalStore, OfAnOlderVersionThatIsInUseIsRefused) {
    const ScratchFolder scratch;
    const auto older = open(scratch);
    pretend_older_version(scratch);
    EXPECT_NE(refusal_of(scratch).find("older version"), std::string::npos);
}

TEST(LocalStore, WhoseTableWasRemovedWhileInUseIsRefusedToNewcomers) {
    const ScratchFolder scratch;
    auto ada = open(scratch);
    std::filesystem::remove(scratch.store() + "/" + table_file);
    EXPECT_THROW(open(scratch), Error);
    ada.reset();
    EXPECT_NO_THROW(open(scratch));
}

TEST(LocalStore, WhoseFolderWasRemovedTellsItsHoldersAndIsNewForOthers) {
    const ScratchFolder scratch;
    const auto ada = open(scratch);
    const Entry entry = enter(*ada, contender("jobs", 1));
    std::filesystem::remove_all(scratch.store());
    // The files are looked for ten times a second.
    auto renewed = ada->renew({&entry.ticket, 1}, 30s).get();
    for (const auto limit = BootClock::now() + 30s; renewed.ok() && BootClock::now() < limit;) {
        renewed = ada->renew({&entry.ticket, 1}, 30s).get();
    }
    ASSERT_FALSE(renewed.ok());
    EXPECT_EQ(renewed.failure().code, errc::unreachable);
    EXPECT_NE(renewed.failure().sentence.find("removed while in use"), std::string::npos);
    const auto bob = open(scratch);
    const Entry next = enter(*bob, contender("jobs", 2));
    EXPECT_EQ(next.standing.state, State::admitted);
    EXPECT_GT(next.standing.fence, entry.standing.fence) << "nothing of the old folder is left";
    const Contender late = contender("jobs", 3);
    EXPECT_FALSE(ada->enter({&late, 1}).get().ok());
}

TEST(LocalStore, IsNotWrittenToByAProgramStartedWithItsStandardErrorClosed) {
    const ScratchFolder scratch;
    ChildProcess other([&](ChildProcess::Parent parent) {
        for (const int standard : {0, 1, 2}) ::close(standard);
        const auto store = open(scratch);
        enter(*store, contender("jobs", 1));
        std::size_t written = 0;
        for (const int standard : {1, 2}) {
            if (write(standard, "not for the store", 17) > 0) ++written;
        }
        parent.say(std::to_string(written));
        pause();
    });
    EXPECT_EQ(other.hear(), "0");
    const auto store = open(scratch);
    EXPECT_EQ(enter(*store, contender("jobs", 2, Patience::none)).standing.state, State::gone);
}

TEST(LocalStore, IsOpenedByManyProcessesAtOnce) {
    const ScratchFolder scratch;
    std::vector<std::unique_ptr<ChildProcess>> children;
    for (int i = 0; i < 20; ++i) {
        children.push_back(std::make_unique<ChildProcess>([&](ChildProcess::Parent parent) {
            const auto store = open(scratch);
            const Entry entry = enter(*store, contender("jobs", 1, Patience::none));
            parent.say(entry.standing.state == State::admitted ? "admitted" : "turned away");
            pause();
        }));
    }
    std::size_t admitted = 0;
    for (const auto& child : children) {
        const std::string said = child->hear();
        EXPECT_TRUE(said == "admitted" || said == "turned away") << said;
        if (said == "admitted") ++admitted;
    }
    EXPECT_EQ(admitted, 1U);
}

TEST(LocalStore, ServesManyWaitersOfOneProcessInOrder) {
    const ScratchFolder scratch;
    const auto store = open(scratch);
    constexpr std::uint64_t waiters = 5000;
    const Entry first = enter(*store, contender("jobs", 0));
    std::vector<Ticket> tickets{first.ticket};
    std::vector<std::uint64_t> told;
    std::vector<std::unique_ptr<Watch>> watches;
    for (std::uint64_t i = 1; i <= waiters; ++i) {
        tickets.push_back(enter(*store, contender("jobs", i)).ticket);
        watches.push_back(store->watch(tickets.back(), [&told, i](Standing standing) {
            if (standing.state == State::offered) told.push_back(i);
        }));
    }
    for (std::uint64_t i = 0; i < waiters; ++i) {
        EXPECT_TRUE(store->leave(tickets[i]).get().ok());
        ASSERT_EQ(told.size(), i + 1);
        ASSERT_EQ(told.back(), i + 1);
        ASSERT_EQ(renew(*store, tickets[i + 1]).state, State::admitted);
    }
}

TEST(LocalStore, SharedWithAWardenKeepsItsPlacesUntilTheWardenEnds) {
    const ScratchFolder scratch;
    const auto store = open(scratch);
    ChildProcess wrapper([&](ChildProcess::Parent parent) {
        const auto own = open(scratch);
        enter(*own, contender("jobs", 1));
        const pid_t pid = getpid();
        const int life = own->share_life(pid);
        const pid_t warden = fork();
        if (warden == 0) {
            static_cast<void>(life);  // not closed in the child, unlike the store's own
            pause();
        }
        parent.say(std::to_string(warden));
        pause();
    });
    const pid_t warden = std::stoi(wrapper.hear());
    const Entry entry = enter(*store, contender("jobs", 2));
    Listener listener(*store, entry.ticket);
    wrapper.kill();
    EXPECT_EQ(enter(*store, contender("jobs", 3, Patience::none)).standing.state, State::gone);
    kill(warden, SIGKILL);
    EXPECT_TRUE(listener.hears(State::offered));
}

}  // namespace
}  // namespace holdfast::local
