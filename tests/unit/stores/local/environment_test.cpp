#include "stores/local/environment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "support/sanitized.hpp"
#include "unit/stores/local/scratch.hpp"

namespace holdfast::local {
namespace {

using namespace std::chrono_literals;
using ledger::Table;
using local_test::ChildProcess;
using local_test::make_small;
using local_test::ScratchFolder;

/// A table as one process has it open.
struct Opened {
    explicit Opened(const std::string& path)
        : folder(path, 0600), file(folder.open_file("control")), control(folder, file.get(), 2s) {
        if (!control.made()) control.start_afresh("this boot");
        control.join(new_registrant());
        environment.emplace(folder, control);
    }
    Folder folder;
    Descriptor file;
    Control control;
    std::optional<Environment> environment;

    void put(const std::string& key, const std::string& value) {
        environment->transact([&](Table& table) { table.put(key, value); });
    }
    std::optional<std::string> get(const std::string& key) {
        std::optional<std::string> found;
        environment->transact([&](Table& table) {
            if (const auto value = table.get(key)) found = std::string(*value);
        });
        return found;
    }
    /// Puts `count` rows of 1 KiB.
    void fill(int first, int count) {
        for (int i = first; i < first + count; ++i) {
            put("key" + std::to_string(i), std::string(1024, 'v'));
        }
    }
};

TEST(Environment, IsAnOrderedMap) {
    const ScratchFolder scratch;
    Opened store(scratch.store());
    store.environment->transact([](Table& table) {
        table.put("b", "2");
        table.put("a", "1");
        table.put("c", "3");
        table.erase("b");
        table.erase("never there");
    });
    EXPECT_EQ(store.get("a"), "1");
    EXPECT_EQ(store.get("b"), std::nullopt);
    store.environment->transact([](Table& table) {
        EXPECT_EQ(table.at_or_after("")->key, "a");
        EXPECT_EQ(table.at_or_after("aa")->key, "c");
        EXPECT_EQ(table.at_or_after("c")->value, "3");
        EXPECT_FALSE(table.at_or_after("d"));
    });
}

TEST(Environment, UndoesATransactionThatThrows) {
    const ScratchFolder scratch;
    Opened store(scratch.store());
    EXPECT_THROW(store.environment->transact([](Table& table) {
        table.put("a", "1");
        throw std::runtime_error("out of order");
    }),
                 std::runtime_error);
    EXPECT_EQ(store.get("a"), std::nullopt);
}

TEST(Environment, IsWholeAfterAProcessWasKilledInsideATransaction) {
    const ScratchFolder scratch;
    Opened store(scratch.store());
    store.put("a", "before");
    ChildProcess child([&](ChildProcess::Parent parent) {
        Opened own(scratch.store());
        own.environment->transact([&](Table& table) {
            table.put("a", "never");
            parent.say("inside");
            pause();
        });
    });
    ASSERT_EQ(child.hear(), "inside");
    child.kill();
    EXPECT_EQ(store.get("a"), "before");
    store.put("a", "after");
    EXPECT_EQ(store.get("a"), "after");
}

TEST(Environment, Grows) {
    const ScratchFolder scratch;
    Opened store(scratch.store());
    store.fill(0, 4000);
    EXPECT_GE(store.control.page().map_size, std::uint64_t{4} << 20);
    EXPECT_TRUE(store.get("key3999"));
}

TEST(Environment, GrowsForAllProcessesThatHaveItOpen) {
    const ScratchFolder scratch;
    Opened store(scratch.store());
    ChildProcess child([&](ChildProcess::Parent parent) {
        Opened own(scratch.store());
        own.fill(0, 4000);
        parent.say("filled");
        pause();
    });
    ASSERT_EQ(child.hear(), "filled");
    EXPECT_TRUE(store.get("key3999"));
    store.fill(4000, 8000);
    Opened third(scratch.store());
    EXPECT_TRUE(third.get("key11999"));
}

/// Lets this process map so many more bytes than it has, and what an exception takes.
void leave_to_map(std::size_t bytes) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * static_cast<std::size_t>(getpagesize()) + bytes;
    setrlimit(RLIMIT_AS, &limit);
}
void leave_to_map_what_it_may() {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

/// "none", or the sentence.
std::string trouble_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(Environment, ThatCannotBeMappedWhenAnotherProcessHasMadeItGrowFailsUntilItCan) {
    if constexpr (test::sanitized) GTEST_SKIP() << "sanitizers map what they like";
    const ScratchFolder scratch;
    const ChildProcess child([&](ChildProcess::Parent parent) {
        Opened store(scratch.store());
        const ChildProcess other([&](ChildProcess::Parent its_parent) {
            Opened(scratch.store()).fill(0, 4000);
            its_parent.say("filled");
        });
        parent.say(other.hear());
        leave_to_map(1 << 20);
        for (int i = 0; i < 3; ++i) parent.say(trouble_of([&] { store.get("key3999"); }));
        leave_to_map_what_it_may();
        parent.say(store.get("key3999") ? "whole" : "damaged");
    });
    ASSERT_EQ(child.hear(), "filled");
    for (int i = 0; i < 3; ++i) {
        const std::string trouble = child.hear();
        EXPECT_NE(trouble.find("lines.mdb fails"), std::string::npos) << i << ": " << trouble;
    }
    EXPECT_EQ(child.hear(), "whole");
}

TEST(Environment, ThatCannotBeMappedWhenItGrowsFailsUntilItCan) {
    if constexpr (test::sanitized) GTEST_SKIP() << "sanitizers map what they like";
    const ScratchFolder scratch;
    const ChildProcess child([&](ChildProcess::Parent parent) {
        Opened store(scratch.store());
        store.put("a", "1");
        leave_to_map(1 << 20);
        for (int i = 0; i < 3; ++i) parent.say(trouble_of([&] { store.fill(0, 4000); }));
        leave_to_map_what_it_may();
        store.fill(0, 4000);
        parent.say(store.get("a") && store.get("key3999") ? "whole" : "damaged");
    });
    for (int i = 0; i < 3; ++i) {
        const std::string trouble = child.hear();
        EXPECT_NE(trouble.find("lines.mdb fails"), std::string::npos) << i << ": " << trouble;
    }
    EXPECT_EQ(child.hear(), "whole");
}

TEST(Environment, OnAFullDiskFailsAndGoesOnWithWhatItHas) {
    const ScratchFolder scratch;
    const ChildProcess child([&](ChildProcess::Parent parent) {
        make_small(scratch.path());
        Opened store(scratch.store());
        try {
            store.fill(0, 4000);
            parent.say("no error");
        } catch (const Error& error) {
            parent.say(error.code() == errc::unreachable ? error.what() : "another error");
        }
        store.environment->transact([](Table& table) { table.erase("key0"); });
        parent.say(store.get("key1") && !store.get("key0") ? "whole" : "damaged");
    });
    const std::string text = child.hear();
    EXPECT_NE(text.find("cannot grow to 2 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("disk is full"), std::string::npos) << text;
    EXPECT_EQ(child.hear(), "whole");
}

TEST(Environment, OnADiskThatWasFullAtTheStartWorksOnceThereIsRoom) {
    const ScratchFolder scratch;
    const ChildProcess child([&](ChildProcess::Parent parent) {
        const bool mounted = make_small(scratch.path()) == "mounted";
        if (mounted) {
            const Descriptor ballast(creat((scratch.path() + "/ballast").c_str(), 0600));
            parent.say(posix_fallocate(ballast.get(), 0, 1 << 20) == 0 ? "full" : "not full");
        } else {
            const rlimit limit{.rlim_cur = 512 << 10, .rlim_max = 1600 << 10};
            parent.say(setrlimit(RLIMIT_FSIZE, &limit) == 0 ? "full" : "not full");
        }
        try {
            Opened store(scratch.store());
            parent.say("no error");
        } catch (const Error& error) {
            parent.say(error.code() == errc::unreachable ? "unreachable" : error.what());
        }
        if (mounted) {
            unlink((scratch.path() + "/ballast").c_str());
        } else {
            const rlimit limit{.rlim_cur = 1600 << 10, .rlim_max = 1600 << 10};
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        Opened(scratch.store()).put("a", "1");
        parent.say("works");
    });
    EXPECT_EQ(child.hear(), "full");
    EXPECT_EQ(child.hear(), "unreachable");
    EXPECT_EQ(child.hear(), "works");
}

TEST(Environment, ThatIsDamagedIsRefusedWithWhatToDo) {
    const ScratchFolder scratch;
    { Opened(scratch.store()).put("a", "1"); }
    {
        const Folder folder(scratch.store(), 0600);
        const Descriptor file = folder.open_file(table_file);
        const std::string garbage(8192, 'x');
        ASSERT_EQ(pwrite(file.get(), garbage.data(), garbage.size(), 0), 8192);
    }
    try {
        Opened again(scratch.store());
        FAIL() << "opened";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), errc::corrupt);
        EXPECT_NE(std::string(error.what()).find("remove that file"), std::string::npos);
    }
}

}  // namespace
}  // namespace holdfast::local
