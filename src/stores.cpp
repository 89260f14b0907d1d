#include <holdfast/stores.hpp>

#include <algorithm>

#include "stores/promises.hpp"

namespace holdfast::inline v0 {

std::vector<StoreInfo> stores() {
    std::vector<StoreInfo> all_of_them;
    for (const auto& [promises, in_this_build] : promises_of_stores) {
        for (StoreInfo info : promises) {
            info.in_this_build = in_this_build;
            all_of_them.push_back(info);
        }
    }
    std::ranges::sort(all_of_them, {}, &StoreInfo::name);
    return all_of_them;
}

}  // namespace holdfast::inline v0
