#include "chaos/site.hpp"

namespace holdfast::chaos {

std::vector<SiteEntry> all_sites() {
    std::vector<SiteEntry> all = local_sites();
    for (const auto of_a_kind :
         {redis_sites, redlock_sites, database_sites, member_sites, memcached_sites}) {
        for (SiteEntry& one : of_a_kind()) all.push_back(std::move(one));
    }
    return all;
}

}  // namespace holdfast::chaos
