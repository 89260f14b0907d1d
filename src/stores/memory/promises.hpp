#pragma once

#include <array>

#include <holdfast/stores.hpp>

#include "stores/ledger/promises.hpp"

namespace holdfast::inline v0::memory {

inline constexpr std::array promises{
    StoreInfo{.name = "memory", .schemes = "memory", .can = ledger::capabilities}};

}  // namespace holdfast::inline v0::memory
