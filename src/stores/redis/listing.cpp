#include "stores/redis/listing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::inline v0::redis {

namespace {

/// By ticket: the longer number is the larger one. A scan may come upon one of them twice.
void put_in_order(std::vector<Place>& places) {
    const auto number = [](const Place& place) {
        return std::pair<std::size_t, std::string_view>(place.ticket.place.size(),
                                                        place.ticket.place);
    };
    const auto same = [](const Place& one, const Place& other) {
        return one.ticket.nonce == other.ticket.nonce && one.ticket.place == other.ticket.place;
    };
    std::ranges::stable_sort(places, {}, number);
    places.erase(std::unique(places.begin(), places.end(), same), places.end());
}

/// Who moved while the pages were read is in both lists, and is what it became.
void put_in_order(Line& line) {
    std::set<Nonce> holders;
    for (const Place& place : line.holders) holders.insert(place.ticket.nonce);
    std::erase_if(line.waiters,
                  [&](const Place& place) { return holders.contains(place.ticket.nonce); });
    put_in_order(line.holders);
    put_in_order(line.waiters);
}

}  // namespace

Result<Listing> Listing::of_all(const Layout& layout, std::string prefix) {
    auto search = layout.search(prefix);
    if (!search.ok()) return search.failure();
    Listing listing(layout, std::move(prefix));
    listing.search_ = std::move(search).value();
    return listing;
}

Listing Listing::of_one(const Layout& layout, std::string resource) {
    Listing listing(layout, std::move(resource));
    listing.keys_.insert(layout.key_of(listing.prefix_));
    return listing;
}

std::vector<Listing::Inquiry> Listing::start() {
    if (!keys_.empty()) return look_at_each();
    std::vector<Inquiry> first;
    first.push_back(scan("0"));
    return first;
}

/// What is about nothing is a part of the scan; what is about a key, a look at it.
std::vector<Listing::Inquiry> Listing::take(const std::string& about, const Reply& reply) {
    return about.empty() ? scanned(reply) : looked(about, reply);
}

Listing::Inquiry Listing::scan(const std::string& cursor) const {
    Command command{"SCAN", cursor, "MATCH", search_.pattern, "COUNT", "1000"};
    if (!search_.type.empty()) command << "TYPE" << search_.type;
    return {std::move(command)};
}

std::vector<Listing::Inquiry> Listing::scanned(const Reply& reply) {
    if (reply.elements.size() != 2) return {};
    // SCAN may give a key more than once.
    for (const Reply& key : reply.elements[1].elements) {
        keys_.insert(key.text);
        if (!objection_) objection_ = layout_->objection_to_key(key.text);
    }
    const std::string& cursor = reply.elements[0].text;
    if (cursor == "0") return look_at_each();
    std::vector<Inquiry> next;
    next.push_back(scan(cursor));
    return next;
}

std::vector<Listing::Inquiry> Listing::look_at_each() const {
    std::vector<Inquiry> looks;
    for (const std::string& key : keys_) {
        const auto resource = layout_->resource_of(key);
        if (!resource || !resource->starts_with(prefix_)) continue;
        looks.push_back({layout_->inspect(key, {}), key});
    }
    return looks;
}

std::vector<Listing::Inquiry> Listing::looked(const std::string& key, const Reply& reply) {
    const auto resource = layout_->resource_of(key);
    if (auto line = layout_->line_of(resource.value_or(key), reply)) add(*std::move(line));
    std::vector<Inquiry> further;
    const std::string page = layout_->next_page(reply);
    if (!page.empty()) further.push_back({layout_->inspect(key, page), key});
    return further;
}

void Listing::add(Line page) {
    Line& line = lines_[page.resource];
    std::ranges::move(line.holders, std::back_inserter(page.holders));
    std::ranges::move(line.waiters, std::back_inserter(page.waiters));
    line = std::move(page);
}

Result<std::vector<Line>> Listing::lines() {
    if (objection_) return Failure{errc::bad_configuration, Effect::none, *objection_};
    std::vector<Line> sorted;
    sorted.reserve(lines_.size());
    for (auto& [resource, line] : lines_) {
        put_in_order(line);
        sorted.push_back(std::move(line));
    }
    return sorted;
}

}  // namespace holdfast::inline v0::redis
