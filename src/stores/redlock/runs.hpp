#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::inline v0::redlock {

/// Which process of a server is behind each name, as it was seen last. None is behind two: it would
/// have two votes. Also not by turns, for one candidacy may ask by the one name before the path to
/// it is cut, and by the other one afterwards.
class Runs {
public:
    explicit Runs(std::size_t names) : runs_(names) {}

    /// That run answers by this name. Nothing when it has no other one; else that, and the run is
    /// not this one's. A server that has moved is believed once another one answers by its old
    /// name.
    std::optional<std::size_t> seen(std::size_t name, std::string_view run) {
        if (runs_[name] == run) return std::nullopt;
        runs_[name].clear();
        const auto other = std::ranges::find(runs_, run);
        if (other != runs_.end()) return static_cast<std::size_t>(other - runs_.begin());
        runs_[name] = run;
        return std::nullopt;
    }

private:
    std::vector<std::string> runs_;  ///< empty: none was seen, or it was another one's
};

}  // namespace holdfast::inline v0::redlock
