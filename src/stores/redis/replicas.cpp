#include "stores/redis/replicas.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::redis {

Replicas replicas_of(const StoreUrl& url) {
    const std::string asked = url.text("replicas").value_or("none");
    if (asked == "none") return Replicas::none;
    if (asked == "one") return Replicas::one;
    if (asked == "majority") return Replicas::majority;
    if (asked == "all") return Replicas::all;
    throw Error(errc::bad_configuration, url.shown + ": the parameter replicas is '" + asked +
                                             "'; give none, one, majority or all");
}

std::size_t needed(Replicas asked, std::size_t known) noexcept {
    constexpr std::size_t least = 1;
    switch (asked) {
        case Replicas::none:
            return 0;
        case Replicas::one:
            return least;
        case Replicas::majority:
            return known / 2 + 1;
        case Replicas::all:
            break;
    }
    return std::max(known, least);
}

bool admits(const Reply& reply, std::size_t numbers_each) noexcept {
    constexpr std::int64_t admitted = 3;
    if (numbers_each == 0) return false;
    if (reply.kind == Reply::Kind::integer) return true;
    for (std::size_t i = 0; i < reply.elements.size(); i += numbers_each) {
        const Reply& state = reply.elements[i];
        if (state.kind == Reply::Kind::integer && state.integer == admitted) return true;
    }
    return false;
}

std::size_t replicas_in(const Reply& role) {
    const bool is_masters = role.elements.size() == 3 && role.elements[0].text == "master";
    if (!is_masters) return 0;
    std::set<std::pair<std::string, std::string>> addresses;
    for (const Reply& replica : role.elements[2].elements) {
        if (replica.elements.size() < 2) continue;
        addresses.emplace(replica.elements[0].text, replica.elements[1].text);
    }
    return addresses.size();
}

std::string run_in(const Reply& info) {
    constexpr std::string_view before = "run_id:";
    const std::size_t found = info.text.find(before);
    if (found == std::string::npos) return {};
    const std::size_t begin = found + before.size();
    return info.text.substr(begin, info.text.find_first_of("\r\n", begin) - begin);
}

}  // namespace holdfast::inline v0::redis
