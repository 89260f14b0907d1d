#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "port/store.hpp"

namespace holdfast::inline v0::local {

struct LocalOptions {
    /// Empty: the user's default folder, see default_folder().
    std::string folder = {};
    /// 0600, or 0660 to share the store with a group: see Folder.
    unsigned mode = 0600;
    /// How long a verb waits for a process that stands still inside the store.
    std::chrono::milliseconds request_timeout = std::chrono::seconds{2};
};

/// The embedded store: the lines of all processes of this machine that name the same folder.
/// Throws Error when the folder cannot be used.
std::shared_ptr<Store> open_local(const LocalOptions& options);

}  // namespace holdfast::inline v0::local
