#include <holdfast/upkeep.hpp>

#include <holdfast/error.hpp>

#include "stores/open_store.hpp"

namespace holdfast::inline v0 {

std::string schema(std::string_view url) {
    return schema_of_store(url);
}

std::uint64_t init(std::string_view url) {
    const auto told = open_store(url).store->initialize().get();
    if (!told.ok()) throw Error(told.failure().code, told.failure().sentence);
    return told.value();
}

Swept sweep(std::string_view url, const SweepProgress& progress) {
    const OpenedStore opened = open_store(url);
    Swept removed;
    std::string from;
    do {
        const auto step = opened.store->sweep(from).get();
        if (!step.ok()) throw Error(step.failure().code, step.failure().sentence);
        removed.contenders += step.value().removed.contenders;
        removed.resources += step.value().removed.resources;
        from = step.value().next;
        if (progress) progress(removed, step.value().looked_at);
    } while (!from.empty());
    return removed;
}

}  // namespace holdfast::inline v0
