#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/store.hpp"

namespace holdfast::chaos {

/// How a store can be wrong: each broke one that was in use once.
std::vector<std::string> ways_to_break_a_store();

/// The same store, wrong in that way. It must be one that answers at once.
std::shared_ptr<Store> broken(const std::string& way, std::shared_ptr<Store> store);

}  // namespace holdfast::chaos
