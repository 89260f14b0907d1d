#pragma once

#include <string>
#include <vector>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// How much of each contender.
enum class Detail : std::uint8_t { listed, shown };

/// An array of {"name", "holders": [...], "waiters": [...]}, in ASCII, so that whatever a name has
/// in it steers no terminal. A name is any bytes, JSON is not: what is no UTF-8 is replaced.
std::string json_of(const std::vector<ResourceInfo>& resources, Detail detail);

}  // namespace holdfast::cli
