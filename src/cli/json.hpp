#pragma once

#include <string>
#include <vector>

#include <holdfast/checkup.hpp>
#include <holdfast/client.hpp>
#include <holdfast/stores.hpp>

#include "verify/report.hpp"

namespace holdfast::cli {

/// How much of each contender.
enum class Detail : std::uint8_t { listed, shown };

/// An array of {"name", "holders": [...], "waiters": [...]}, in ASCII, so that whatever a name has
/// in it steers no terminal. A name is any bytes, JSON is not: what is no UTF-8 is replaced.
std::string json_of(const std::vector<ResourceInfo>& resources, Detail detail);

/// An array with an object for each store. A lease that the servers decide on is null.
std::string json_of(const std::vector<StoreInfo>& stores);

/// An object. Times are in microseconds; what was not measured, or is not known, is null.
std::string json_of(const Checkup& checkup);

/// An object. Times are in microseconds, and moments are counted from the beginning of the trial.
std::string json_of(const verify::Report& report);

}  // namespace holdfast::cli
