#pragma once

#include <array>

#include <holdfast/stores.hpp>

#include "stores/ledger/promises.hpp"

namespace holdfast::inline v0::local {

constexpr Capabilities on_a_machine() {
    Capabilities can = ledger::capabilities;
    can.reach = Reach::machine;
    return can;
}

inline constexpr std::array promises{
    StoreInfo{.name = "local", .schemes = "local", .can = on_a_machine()}};

}  // namespace holdfast::inline v0::local
