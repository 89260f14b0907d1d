#pragma once

#include <string_view>

#include <holdfast/hold.hpp>

namespace holdfast::cli {

/// Why a hold is lost, by what its store and its clock say.
std::string_view reason_of_loss(const Hold& hold);

void tell_loss(const Hold& hold, std::string_view reason, std::string_view consequence);

}  // namespace holdfast::cli
