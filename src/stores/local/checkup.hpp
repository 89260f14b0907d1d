#pragma once

#include <vector>

#include <holdfast/checkup.hpp>

#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// What of its folder makes the locks of a store less safe: see Store::examine(). A network file
/// system, and a folder in which everybody may write, are refused before that.
std::vector<Finding> findings_in(const Folder& folder);

}  // namespace holdfast::inline v0::local
