#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "port/contender.hpp"

namespace holdfast::test {

/// The fences that a store gave, resource by resource.
class Fences {
public:
    /// Of one that is admitted, also according to the model. What is wrong, if anything: those who
    /// share a hold have one fence, and each new hold has a larger one than all before it.
    std::string check(const std::string& resource, std::uint64_t in_model, std::uint64_t given) {
        const auto [known, is_new] = by_model_.try_emplace({resource, in_model}, given);
        if (!is_new) return known->second == given ? "" : differ(known->second, given);
        return rise(resource, given);
    }
    /// Where there is no model: of one that was admitted with `own` before, or has joined a hold.
    std::string check(const Contender& one, std::uint64_t given) {
        const auto own = by_nonce_.try_emplace(one.nonce, given);
        if (!own.second && own.first->second == given) return {};
        own.first->second = given;
        if (one.reenter && by_owner_[one.resource + one.owner].contains(given)) return {};
        by_owner_[one.resource + one.owner].insert(given);
        return rise(one.resource, given);
    }
    /// For when there will be no model any more.
    void remember(const Contender& one, std::uint64_t given) {
        by_nonce_[one.nonce] = given;
        by_owner_[one.resource + one.owner].insert(given);
    }

private:
    static std::string differ(std::uint64_t before, std::uint64_t given) {
        return "fence " + std::to_string(given) + " after " + std::to_string(before);
    }
    std::string rise(const std::string& resource, std::uint64_t given) {
        std::uint64_t& highest = highest_[resource];
        if (given <= highest) return differ(highest, given);
        highest = given;
        return {};
    }

    std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> by_model_;
    std::map<std::string, std::uint64_t> highest_;
    std::map<Nonce, std::uint64_t> by_nonce_;
    std::map<std::string, std::set<std::uint64_t>> by_owner_;
};

}  // namespace holdfast::test
