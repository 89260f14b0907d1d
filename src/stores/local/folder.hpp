#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/error.hpp>

#include "stores/local/descriptor.hpp"

namespace holdfast::inline v0::local {

/// Where the store is when no folder is named. The home is that of the password database: $HOME
/// differs between a shell, cron and systemd, and then they would not exclude each other.
/// Throws Error: no entry, no home.
std::string default_folder();

/// The same for a given user and home.
std::string default_folder_of(uid_t user, const std::string& home);

/// The name of a network file system by its magic number in statfs(2); nothing for a local one.
/// Shared memory and locks there do not reach the other machines, or not this one's processes.
std::optional<std::string_view> network_file_system(std::uint64_t magic);

/// How a store is opened.
struct LocalOptions {
    /// Empty: the user's default folder, see default_folder().
    std::string folder = {};
    /// 0600, or 0660 to share the store with a group: see Folder.
    unsigned mode = 0600;
    /// How long a verb waits for a process that stands still inside the store.
    std::chrono::milliseconds request_timeout = std::chrono::seconds{2};
};

/// The folder that holds a store. All its files are reached through one descriptor, so that they
/// belong together even when the path is renamed meanwhile. Immutable, so safe to share.
/// Whoever can write in it can stop, mislead or crash those who use it. So it must be this user's
/// or root's, and nobody may write in it but its owner and, if the owner wants that, its group.
class Folder {
public:
    /// Opens the folder, or makes it. Without a path: the default folder, parents included.
    /// `mode` is that of the files, 0600 or 0660. A folder in which its group may write has files
    /// of 0660 whoever asks for what: all must be able to reach each other. Asking for 0660 shares
    /// a folder of one's own, and says that the group of somebody else's is trusted.
    /// Throws Error: missing parent, no permission, network file system, read-only, not trusted.
    Folder(const std::string& path, unsigned mode);

    const std::string& path() const noexcept { return path_; }
    unsigned mode() const noexcept { return mode_; }
    int descriptor() const noexcept { return descriptor_.get(); }
    /// How messages begin: "local store /path".
    const std::string& description() const noexcept { return description_; }

    /// Opens a file of the store for reading and writing; makes it when it is not there.
    Descriptor open_file(const char* name) const;
    /// The inode of a file; nothing when there is none.
    std::optional<std::uint64_t> inode_of(const char* name) const;
    /// Nothing happens when there is none.
    void remove(const std::string& name) const noexcept;
    /// Removes all whose name starts so.
    void remove_all(std::string_view name_start) const noexcept;
    /// Lets those reach a socket that was made by name who may reach the files, whatever the umask.
    void share_socket(const std::string& name) const noexcept;
    /// A path to a file that stays short however long the folder's own path is: the paths of
    /// sockets end at 108 bytes.
    std::string reach(std::string_view name) const;

    /// Throws Error: "local store /path: <fact>".
    [[noreturn]] void fail(errc code, const std::string& fact) const;
    /// Throws Error for an errno, with what to do about it.
    [[noreturn]] void fail_with(int error, const std::string& doing) const;

private:
    void make(bool parents) const;
    void refuse_network() const;
    void refuse_untrusted(bool group_is_trusted);
    void refuse_untrusted_file(int file, const char* name) const;
    void share(int file) const noexcept;

    std::string path_;
    unsigned mode_;
    uid_t owner_ = 0;
    gid_t group_ = 0;
    std::string description_;
    Descriptor descriptor_;
};

}  // namespace holdfast::inline v0::local
