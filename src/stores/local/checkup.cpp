#include "stores/local/checkup.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>

#include <cstdint>
#include <string>

namespace holdfast::inline v0::local {

namespace {

void judge_group(const Folder& folder, std::vector<Finding>& findings) {
    constexpr unsigned of_group = 0060;
    if ((folder.mode() & of_group) == 0) return;
    findings.push_back(
        {.severity = Severity::advice,
         .name = "local.shared",
         .fact = folder.description() + ": a group shares it",
         .consequence = "whoever is in the group can stop, mislead or end those who use it",
         .remedy = "only trusted users in that group; else chmod g-w " + folder.path()});
}

void judge_file_system(const Folder& folder, std::vector<Finding>& findings) {
    struct statfs system {};
    if (fstatfs(folder.descriptor(), &system) != 0) return;
    if (static_cast<std::uint64_t>(system.f_type) != OVERLAYFS_SUPER_MAGIC) return;
    findings.push_back({.severity = Severity::advice,
                        .name = "local.container",
                        .fact = folder.description() + ": it is in a container's own file system",
                        .consequence = "neither the host nor another container has these locks, "
                                       "and they go with the container",
                        .remedy = "a folder of the host, mounted into all who share its locks"});
}

}  // namespace

std::vector<Finding> findings_in(const Folder& folder) {
    std::vector<Finding> findings;
    judge_group(folder, findings);
    judge_file_system(folder, findings);
    return findings;
}

}  // namespace holdfast::inline v0::local
