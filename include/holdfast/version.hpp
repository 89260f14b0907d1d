#pragma once

#include <holdfast/export.hpp>

#define HOLDFAST_VERSION_MAJOR 0
#define HOLDFAST_VERSION_MINOR 1
#define HOLDFAST_VERSION_PATCH 0

namespace holdfast::inline v0 {

/// The version of the library that runs, which may be newer than the headers compiled against.
HOLDFAST_EXPORT const char* version() noexcept;

}  // namespace holdfast::inline v0
