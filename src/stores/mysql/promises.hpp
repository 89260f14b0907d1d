#pragma once

#include <array>

#include <holdfast/stores.hpp>

#include "stores/sql/promises.hpp"

namespace holdfast::inline v0::mysql {

inline constexpr std::array promises{
    StoreInfo{.name = "mysql", .schemes = "mysql", .can = sql::in_tables_of_ours},
    StoreInfo{.name = "mysql?layout=shedlock", .schemes = "mysql", .can = sql::beside_shedlock}};

}  // namespace holdfast::inline v0::mysql
