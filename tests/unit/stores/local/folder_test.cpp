#include "stores/local/folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "unit/stores/local/scratch.hpp"

namespace holdfast::local {
namespace {

using local_test::ChildProcess;
using local_test::ScratchFolder;

unsigned mode_of(const std::string& path) {
    struct stat status {};
    stat(path.c_str(), &status);
    return status.st_mode & 07777U;
}

/// What opening the folder throws, as text; empty when it does not.
std::string refusal(const std::string& path, errc code = errc::bad_configuration) {
    try {
        const Folder folder(path, 0600);
        folder.open_file("control");
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
    return {};
}

TEST(Folder, IsBelowTheHomeOfAUserAndInVarForRoot) {
    EXPECT_EQ(default_folder_of(1000, "/home/ada"), "/home/ada/.local/state/holdfast");
    EXPECT_EQ(default_folder_of(0, "/root"), "/var/lib/holdfast");
}

TEST(Folder, ByDefaultDoesNotDependOnTheEnvironment) {
    const std::string before = default_folder();
    const char* home = getenv("HOME");
    const std::string kept = home == nullptr ? "" : home;
    setenv("HOME", "/somewhere/else", 1);
    EXPECT_EQ(default_folder(), before);
    setenv("HOME", kept.c_str(), 1);
}

TEST(Folder, IsRefusedOnEveryNetworkFileSystem) {
    for (const std::uint64_t magic :
         {0x6969U, 0xff534d42U, 0xfe534d42U, 0x517bU, 0x5346414fU, 0x73757245U, 0x00c36400U,
          0x01021997U, 0x0bd00bd0U, 0x01161970U, 0x7461636fU}) {
        EXPECT_TRUE(network_file_system(magic)) << std::hex << magic;
    }
    for (const std::uint64_t magic : {0xef53U, 0x58465342U, 0x9123683eU, 0x01021994U}) {
        EXPECT_FALSE(network_file_system(magic)) << std::hex << magic;
    }
}

TEST(Folder, WithoutAParentIsRefusedWithWhatToDo) {
    const ScratchFolder scratch;
    const std::string text = refusal(scratch.path() + "/missing/store");
    EXPECT_NE(text.find("mkdir -p " + scratch.path() + "/missing"), std::string::npos) << text;
}

TEST(Folder, ThatIsAFileIsRefused) {
    const ScratchFolder scratch;
    { const Descriptor file(creat((scratch.path() + "/file").c_str(), 0600)); }
    EXPECT_NE(refusal(scratch.path() + "/file"), "");
}

TEST(Folder, MustBeNamedFromTheRoot) {
    EXPECT_NE(refusal("relative").find("local:///folder"), std::string::npos);
}

TEST(Folder, IsPrivateUnlessAModeIsNamedWhateverTheUmask) {
    const ScratchFolder scratch;
    const mode_t before = umask(0);
    const Folder alone(scratch.path() + "/alone", 0600);
    alone.open_file("control");
    umask(0077);
    const Folder group(scratch.path() + "/group", 0660);
    group.open_file("control");
    umask(before);
    EXPECT_EQ(mode_of(scratch.path() + "/alone"), 0700U);
    EXPECT_EQ(mode_of(scratch.path() + "/alone/control"), 0600U);
    EXPECT_EQ(mode_of(scratch.path() + "/group"), 02770U);
    EXPECT_EQ(mode_of(scratch.path() + "/group/control"), 0660U);
}

TEST(Folder, OnlyEverWidensTheModeOfItsFiles) {
    const ScratchFolder scratch;
    Folder(scratch.store(), 0660).open_file("control");
    Folder(scratch.store(), 0600).open_file("control");
    EXPECT_EQ(mode_of(scratch.store() + "/control"), 0660U);
}

TEST(Folder, OfAnotherUserIsRefusedNamingTheUser) {
    const ScratchFolder scratch;
    Folder(scratch.store(), 0600).open_file("control");
    chmod(scratch.path().c_str(), 0755);
    if (geteuid() == 0) {
        const ChildProcess other([&](ChildProcess::Parent parent) {
            static_cast<void>(!setresuid(65534, 65534, 65534));
            parent.say(refusal(scratch.store()));
        });
        EXPECT_NE(other.hear().find("user 65534"), std::string::npos);
    } else {
        // Not even its owner gets into it now.
        chmod(scratch.store().c_str(), 0);
        EXPECT_NE(refusal(scratch.store()).find("user "), std::string::npos);
        chmod(scratch.store().c_str(), 0700);
    }
}

TEST(Folder, InWhichEverybodyMayWriteIsRefusedAlsoThroughASymlink) {
    const ScratchFolder scratch;
    mkdir(scratch.store().c_str(), 0700);
    chmod(scratch.store().c_str(), 01777);
    EXPECT_NE(refusal(scratch.store()).find("chmod o-w " + scratch.store()), std::string::npos);
    const std::string link = scratch.path() + "/link";
    ASSERT_EQ(symlink(scratch.store().c_str(), link.c_str()), 0);
    EXPECT_NE(refusal(link).find("everybody may write in it"), std::string::npos);
    EXPECT_THROW(Folder(scratch.store(), 0660), Error) << "a group is not everybody";
}

TEST(Folder, OfAUserIsRefusedToRootAlsoThroughASymlinkUnlessItsGroupIsTrusted) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    const ScratchFolder scratch;
    mkdir(scratch.store().c_str(), 0700);
    ASSERT_EQ(chown(scratch.store().c_str(), 65534, 65534), 0);
    EXPECT_NE(refusal(scratch.store()).find("belongs to user 65534"), std::string::npos);
    const std::string link = scratch.path() + "/link";
    ASSERT_EQ(symlink(scratch.store().c_str(), link.c_str()), 0);
    EXPECT_NE(refusal(link).find("belongs to user 65534"), std::string::npos);
    EXPECT_NO_THROW(Folder(scratch.store(), 0660).open_file("control"));
}

TEST(Folder, WithAFileThatSomebodyElsePutThereIsRefused) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    const ScratchFolder scratch;
    Folder(scratch.store(), 0600).open_file("control");
    const std::string control = scratch.store() + "/control";
    ASSERT_EQ(chown(control.c_str(), 65534, 65534), 0);
    EXPECT_NE(refusal(scratch.store()).find("put there by somebody else"), std::string::npos);
    ASSERT_EQ(chown(control.c_str(), 0, 0), 0);
    EXPECT_EQ(refusal(scratch.store()), "");
    chmod(control.c_str(), 0666);
    EXPECT_NE(refusal(scratch.store()).find("everybody may write it"), std::string::npos);
}

TEST(Folder, ThatRootSharesWithAGroupHasFilesOfThatGroupWhoeverMakesThemAndWhateverIsAskedFor) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
    const ScratchFolder scratch;
    chmod(scratch.path().c_str(), 0755);
    mkdir(scratch.store().c_str(), 0700);
    ASSERT_EQ(chown(scratch.store().c_str(), 0, local_test::shared_group), 0);
    chmod(scratch.store().c_str(), 0770);
    const ChildProcess member([&](ChildProcess::Parent parent) {
        parent.say(local_test::become_member(1001) ? refusal(scratch.store()) : "not permitted");
    });
    EXPECT_EQ(member.hear(), "");
    struct stat control {};
    stat((scratch.store() + "/control").c_str(), &control);
    EXPECT_EQ(control.st_uid, 1001U);
    EXPECT_EQ(control.st_gid, local_test::shared_group);
    EXPECT_EQ(control.st_mode & 07777U, 0660U);
    const ChildProcess another([&](ChildProcess::Parent parent) {
        parent.say(local_test::become_member(1002) ? refusal(scratch.store()) : "not permitted");
    });
    EXPECT_EQ(another.hear(), "") << "what the first made is theirs too";
}

TEST(Folder, ThatIsReadOnlyIsRefused) {
    const ScratchFolder scratch;
    const ChildProcess child([&](ChildProcess::Parent parent) {
        const bool mounted =
            unshare(CLONE_NEWNS) == 0 &&
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            mount("none", scratch.path().c_str(), "tmpfs", MS_RDONLY, "mode=0700") == 0;
        if (mounted) {
            parent.say(refusal(scratch.path()));
        } else {
            // Without the right to mount: a folder that denies writing.
            chmod(scratch.path().c_str(), 0500);
            parent.say(refusal(scratch.path()));
            chmod(scratch.path().c_str(), 0700);
        }
    });
    const std::string text = child.hear();
    EXPECT_TRUE(text.find("read-only") != std::string::npos ||
                text.find("write access") != std::string::npos)
        << text;
}

TEST(Folder, ReachesItsFilesByAShortPath) {
    const ScratchFolder scratch;
    const std::string deep = scratch.path() + "/" + std::string(200, 'x');
    const Folder folder(deep, 0600);
    folder.open_file("control");
    EXPECT_LT(folder.reach("control").size(), 60U);
    EXPECT_EQ(access(folder.reach("control").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace holdfast::local
