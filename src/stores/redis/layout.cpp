#include "stores/redis/layout.hpp"

#include <map>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/redis/promises.hpp"

namespace holdfast::inline v0::redis {

std::optional<std::string> Layout::objection_to(const Contender& contender) const {
    auto objection = objection_to_name(contender.resource);
    return objection ? objection : objection_to_lease(place_of(contender, 0), contender.lease);
}

std::vector<scripted::Batch<Command>> Layout::renewals(std::span<const Ticket> tickets,
                                                       std::span<const std::size_t> which,
                                                       const Extension& extension) const {
    std::map<std::string_view, std::vector<std::size_t>> by_resource;
    for (const std::size_t i : which) by_resource[tickets[i].resource].push_back(i);
    std::vector<scripted::Batch<Command>> batches;
    batches.reserve(by_resource.size());
    for (auto& [resource, these] : by_resource) {
        auto command = renew(tickets, these, extension);
        batches.push_back({std::move(command), std::move(these)});
    }
    return batches;
}

std::unique_ptr<Layout> layout_of(const StoreUrl& url) {
    const std::string name = url.text("layout").value_or("holdfast");
    const auto watchdog = url.duration("watchdog");
    if (name == "redisson") return redisson_layout(watchdog.value_or(usual_watchdog));
    if (watchdog) {
        throw Error(errc::bad_configuration,
                    url.shown +
                        ": the parameter watchdog is Redisson's; leave it out, or ask for "
                        "layout=redisson");
    }
    if (name == "holdfast") {
        return holdfast_layout(url.scheme.ends_with("+cluster") ? Handed::all : Handed::usual);
    }
    if (name == "plain") return plain_layout();
    throw Error(errc::bad_configuration, url.shown + ": the parameter layout is '" + name +
                                             "'; give holdfast, plain or redisson");
}

}  // namespace holdfast::inline v0::redis
