#include "cli/json.hpp"

#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ContenderInfo& contender, Detail detail) {
    Json result{{"owner", contender.owner},
                {"fence", contender.fence},
                {"lease_left_ms", contender.lease_left.count()},
                {"weight", contender.weight},
                {"capacity", contender.capacity}};
    if (detail == Detail::listed) return result;
    result["host"] = contender.host;
    result["pid"] = contender.pid;
    result["age_ms"] = contender.age ? Json(contender.age->count()) : Json();
    result["foreign"] = contender.foreign;
    return result;
}

Json to_json(const std::vector<ContenderInfo>& contenders, Detail detail) {
    Json result = Json::array();
    for (const ContenderInfo& contender : contenders) result.push_back(to_json(contender, detail));
    return result;
}

}  // namespace

std::string json_of(const std::vector<ResourceInfo>& resources, Detail detail) {
    Json result = Json::array();
    for (const ResourceInfo& resource : resources) {
        result.push_back({{"name", resource.name},
                          {"holders", to_json(resource.holders, detail)},
                          {"waiters", to_json(resource.waiters, detail)}});
    }
    return result.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
