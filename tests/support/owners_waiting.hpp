#pragma once

#include <holdfast/holdfast.hpp>
#include <string>
#include <vector>

namespace holdfast::test {

/// The owners of those who wait for the resource, in line order.
inline std::vector<std::string> owners_waiting(const Client& client, const std::string& name) {
    std::vector<std::string> owners;
    if (const auto line = client.look_at(name)) {
        for (const ContenderInfo& waiter : line->waiters) owners.push_back(waiter.owner);
    }
    return owners;
}

}  // namespace holdfast::test
