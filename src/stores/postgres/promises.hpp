#pragma once

#include <array>

#include <holdfast/stores.hpp>

#include "stores/sql/promises.hpp"

namespace holdfast::inline v0::postgres {

inline constexpr std::array promises{
    StoreInfo{.name = "postgres", .schemes = "postgres", .can = sql::in_tables_of_ours},
    StoreInfo{
        .name = "postgres?layout=shedlock", .schemes = "postgres", .can = sql::beside_shedlock}};

}  // namespace holdfast::inline v0::postgres
