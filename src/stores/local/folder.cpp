#include "stores/local/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::inline v0::local {

namespace {

constexpr std::string_view name_another = "name another folder: local:///folder";

/// The modes of the files, and of the folder: what is made in it is then of its group.
constexpr unsigned shared_with_group = 0660;
constexpr unsigned folder_shared_with_group = 02770;

struct FileSystem {
    std::uint64_t magic;
    std::string_view name;
};
constexpr std::array network_file_systems{
    FileSystem{NFS_SUPER_MAGIC, "NFS"},   FileSystem{SMB_SUPER_MAGIC, "SMB"},
    FileSystem{0xff534d42, "CIFS"},       FileSystem{0xfe534d42, "SMB2"},
    FileSystem{AFS_SUPER_MAGIC, "AFS"},   FileSystem{0x6b414653, "AFS"},
    FileSystem{CODA_SUPER_MAGIC, "Coda"}, FileSystem{0x00c36400, "Ceph"},
    FileSystem{V9FS_MAGIC, "9P"},         FileSystem{0x0bd00bd0, "Lustre"},
    FileSystem{0x01161970, "GFS2"},       FileSystem{0x7461636f, "OCFS2"},
};

/// Adds rights, and takes none away: another user of the store may have asked for more.
void widen(int file, unsigned mode, unsigned more) {
    const unsigned now = mode & 07777U;
    if ((now | more) != now) fchmod(file, now | more);
}

std::string home_of(uid_t user) {
    std::vector<char> text(16384);
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(user, &entry, text.data(), text.size(), &found);
    if (found == nullptr) {
        throw Error(errc::bad_configuration,
                    "local store: user " + std::to_string(user) +
                        " has no entry in the password database, so there is no default folder; " +
                        std::string(name_another));
    }
    return found->pw_dir;
}

std::string parent_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

std::string default_folder() {
    const uid_t user = geteuid();
    if (user == 0) return default_folder_of(user, {});
    const std::string home = home_of(user);
    struct stat status {};
    if (home.empty() || stat(home.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        throw Error(errc::bad_configuration, "local store: the home folder of user " +
                                                 std::to_string(user) + " ('" + home +
                                                 "') does not exist; " + std::string(name_another));
    }
    return default_folder_of(user, home);
}

std::string default_folder_of(uid_t user, const std::string& home) {
    return user == 0 ? "/var/lib/holdfast" : home + "/.local/state/holdfast";
}

std::optional<std::string_view> network_file_system(std::uint64_t magic) {
    const auto known = std::ranges::find(network_file_systems, magic, &FileSystem::magic);
    if (known == network_file_systems.end()) return std::nullopt;
    return known->name;
}

Folder::Folder(const std::string& path, unsigned mode)
    : path_(path.empty() ? default_folder() : path), mode_(mode) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    description_ = "local store " + path_;
    if (path_.front() != '/') {
        fail(errc::bad_configuration, "the folder must be named from the root: local:///folder");
    }
    const auto open_it = [&] {
        return Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    };
    descriptor_ = open_it();
    if (!descriptor_ && errno == ENOENT) {
        make(path.empty());
        descriptor_ = open_it();
    }
    if (!descriptor_) fail_with(errno, "cannot be opened");
    refuse_network();
    refuse_untrusted(mode == shared_with_group);
}

void Folder::refuse_untrusted(bool group_is_trusted) {
    struct stat status {};
    if (fstat(descriptor(), &status) != 0) fail_with(errno, "cannot be examined");
    owner_ = status.st_uid;
    group_ = status.st_gid;
    if ((status.st_mode & S_IWOTH) != 0) {
        fail(errc::bad_configuration,
             "everybody may write in it, and could stop or mislead whoever uses it; take that "
             "away: chmod o-w " +
                 path_ + ", or " + std::string(name_another));
    }
    if (owner_ != geteuid() && owner_ != 0 && !group_is_trusted) {
        fail(errc::bad_configuration,
             "belongs to user " + std::to_string(owner_) +
                 ", who could stop or mislead whoever uses it; if user and group are trusted, say "
                 "so (local:///folder?mode=0660), or " +
                 std::string(name_another));
    }
    if (group_is_trusted && owner_ == geteuid()) {
        widen(descriptor(), status.st_mode, folder_shared_with_group);
    }
    if ((status.st_mode & S_IWGRP) != 0) mode_ = shared_with_group;
}

void Folder::make(bool parents) const {
    if (parents) {
        // Below the home, which is there; what belongs to the user alone stays so.
        for (auto slash = path_.find('/', 1); slash != std::string::npos;
             slash = path_.find('/', slash + 1)) {
            mkdir(path_.substr(0, slash).c_str(), 0700);
        }
    }
    if (mkdir(path_.c_str(), 0700) == 0) return;
    if (errno == ENOENT) {
        const std::string parent = parent_of(path_);
        fail(errc::bad_configuration,
             "its parent folder " + parent + " does not exist; create it: mkdir -p " + parent);
    } else if (errno != EEXIST) {
        fail_with(errno, "cannot be made");
    }
}

void Folder::refuse_network() const {
    struct statfs system {};
    if (fstatfs(descriptor(), &system) != 0) fail_with(errno, "cannot be examined");
    const auto name = network_file_system(static_cast<std::uint64_t>(system.f_type));
    if (!name) return;
    fail(errc::bad_configuration, "is on a network file system (" + std::string(*name) +
                                      "), where processes cannot share memory; " +
                                      std::string(name_another));
}

Descriptor Folder::open_file(const char* name) const {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    const BeyondStandard beyond;
    for (;;) {
        Descriptor file(openat(descriptor(), name, flags));
        if (!file && errno == ENOENT) {
            file = Descriptor(openat(descriptor(), name, flags | O_CREAT | O_EXCL, 0600));
            if (!file && errno == EEXIST) continue;
        }
        if (!file) fail_with(errno, "its file " + std::string(name) + " cannot be opened");
        refuse_untrusted_file(file.get(), name);
        share(file.get());
        return file;
    }
}

/// It may have been put there before the folder was what it is now.
void Folder::refuse_untrusted_file(int file, const char* name) const {
    struct stat status {};
    if (fstat(file, &status) != 0) fail_with(errno, "cannot be examined");
    const auto of = [&](uid_t user) { return status.st_uid == user; };
    const bool of_the_group = mode_ == shared_with_group && status.st_gid == group_;
    const bool trusted = of(geteuid()) || of(0) || of(owner_) || of_the_group;
    if (S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH) == 0 && trusted) return;
    fail(errc::bad_configuration, "its file " + std::string(name) +
                                      " was put there by somebody else, or everybody may write "
                                      "it; end all its users and remove that file");
}

/// Shares a file with the folder's group, and no other one: who is in that decides who is trusted.
void Folder::share(int file) const noexcept {
    struct stat status {};
    if (mode_ != shared_with_group || fstat(file, &status) != 0) return;
    if (status.st_uid != geteuid()) return;
    if (status.st_gid != group_ && fchown(file, static_cast<uid_t>(-1), group_) != 0) return;
    widen(file, status.st_mode, mode_);
}

std::optional<std::uint64_t> Folder::inode_of(const char* name) const {
    struct stat status {};
    if (fstatat(descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return status.st_ino;
}

void Folder::remove(const std::string& name) const noexcept {
    unlinkat(descriptor(), name.c_str(), 0);
}

void Folder::remove_all(std::string_view name_start) const noexcept {
    const int again = openat(descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(again), closedir);
    if (!listing) return;
    while (const dirent* entry = readdir(listing.get())) {
        if (std::string_view(entry->d_name).starts_with(name_start)) remove(entry->d_name);
    }
}

void Folder::share_socket(const std::string& name) const noexcept {
    // By a descriptor, so that it is what was looked at, whatever has its name by now.
    const Descriptor socket(openat(descriptor(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!socket || fstat(socket.get(), &status) != 0) return;
    if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid()) return;
    const bool grouped =
        mode_ == shared_with_group &&
        (status.st_gid == group_ ||
         fchownat(socket.get(), "", static_cast<uid_t>(-1), group_, AT_EMPTY_PATH) == 0);
    const std::string path = "/proc/self/fd/" + std::to_string(socket.get());
    chmod(path.c_str(), grouped ? shared_with_group : 0600);
}

std::string Folder::reach(std::string_view name) const {
    return "/proc/self/fd/" + std::to_string(descriptor()) + "/" + std::string(name);
}

void Folder::fail(errc code, const std::string& fact) const {
    throw Error(code, description_ + ": " + fact);
}

void Folder::fail_with(int error, const std::string& doing) const {
    const std::string reason = doing + " (" + std::strerror(error) + "); ";
    switch (error) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            fail(errc::unreachable, reason + "the disk is full: make room on it");
        case EMFILE:
        case ENFILE:
        case ENOMEM:
            fail(errc::unreachable, reason + "raise the limit (ulimit) and try again");
        case EROFS:
            fail(errc::bad_configuration,
                 reason + "the file system is read-only: " + std::string(name_another));
        case EACCES:
        case EPERM:
            fail(errc::bad_configuration,
                 reason + "user " + std::to_string(geteuid()) +
                     " needs read and write access: share the store with a group "
                     "(local:///folder?mode=0660) or " +
                     std::string(name_another));
        default:
            fail(errc::bad_configuration, reason + std::string(name_another));
    }
}

}  // namespace holdfast::inline v0::local
