#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::inline v0::zookeeper {

/// Where the nodes of a resource are. A name's parts between slashes are nodes below each other, as
/// others write them; what would not reach the server as it is, or would be taken for a contender,
/// is escaped, so that two names never meet.
class Paths {
public:
    /// `chroot` is before all paths: empty, or as "/app/locks".
    explicit Paths(std::string chroot) : chroot_(std::move(chroot)) {}

    std::string of(std::string_view resource) const;
    /// Nothing when no resource has this path.
    std::optional<std::string> resource_of(std::string_view path) const;
    /// The node under which all resources are.
    std::string root() const { return chroot_.empty() ? "/" : chroot_; }

private:
    std::string chroot_;
};

/// Every node on the way to this one and itself, from the top: "/a", "/a/b".
std::vector<std::string> way_to(std::string_view path);
/// The node's own name: "b" of "/a/b".
std::string_view last_of(std::string_view path);
/// The node that it is below: "/a" of "/a/b".
std::string parent_of(std::string_view path);
std::string below(std::string_view parent, std::string_view child);

}  // namespace holdfast::inline v0::zookeeper
