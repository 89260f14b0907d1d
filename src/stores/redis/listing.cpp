#include "stores/redis/listing.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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

class Listing : public std::enable_shared_from_this<Listing> {
public:
    Listing(RedisWire& wire, const Layout& layout, std::weak_ptr<const void> store,
            std::string prefix, Layout::Search search)
        : wire_(wire),
          layout_(layout),
          store_(std::move(store)),
          prefix_(std::move(prefix)),
          search_(std::move(search)),
          flight_(std::make_shared<Flight<std::vector<Line>>>(wire)) {}

    Pending<std::vector<Line>> start() {
        scan("0");
        return Pending<std::vector<Line>>(flight_);
    }
    Pending<std::vector<Line>> start_with(const std::string& key) {
        keys_.insert(key);
        look_at_each();
        return Pending<std::vector<Line>>(flight_);
    }

private:
    /// Wire and layout are the store's. When that is gone, nobody wants the answer.
    template <class Answered>
    void submit(Command command, Answered answered) {
        wire_.submit(std::move(command),
                     [self = shared_from_this(), answered](const Answer& answer) {
                         if (const auto store = self->store_.lock()) answered(*self, answer);
                     });
    }

    void scan(const std::string& cursor) {
        submit({"SCAN", cursor, "MATCH", search_.pattern, "COUNT", "1000", "TYPE", search_.type},
               [](Listing& self, const Answer& answer) { self.scanned(answer); });
    }

    void scanned(const Answer& answer) {
        if (!answer.result.ok()) return flight_->complete(answer.result.failure());
        const auto& found = answer.result.value().elements;
        if (found.size() != 2) return flight_->complete(std::vector<Line>{});
        // SCAN may give a key more than once.
        for (const Reply& key : found[1].elements) keys_.insert(key.text);
        if (found[0].text != "0") return scan(found[0].text);
        look_at_each();
    }

    void look_at_each() {
        std::vector<std::pair<std::string, std::string>> resources;
        for (const std::string& key : keys_) {
            auto resource = layout_.resource_of(key);
            if (resource && resource->starts_with(prefix_)) {
                resources.emplace_back(key, *std::move(resource));
            }
        }
        due_ = resources.size();
        if (due_ == 0) return flight_->complete(std::vector<Line>{});
        for (const auto& [key, resource] : resources) look(key, resource, {});
    }

    void look(const std::string& key, const std::string& resource, const std::string& page) {
        submit(layout_.inspect(key, page), [key, resource](Listing& self, const Answer& answer) {
            self.looked(key, resource, answer);
        });
    }

    void looked(const std::string& key, const std::string& resource, const Answer& answer) {
        const std::string next =
            answer.result.ok() ? layout_.next_page(answer.result.value()) : std::string();
        const bool was_last = take(resource, answer, next.empty());
        if (!next.empty()) return look(key, resource, next);
        if (!was_last) return;
        if (failure_) return flight_->complete(*failure_);
        std::vector<Line> lines;
        for (auto& [name, line] : lines_) {
            put_in_order(line);
            lines.push_back(std::move(line));
        }
        flight_->complete(std::move(lines));
    }

    /// Whether everything is there now. Callbacks of several turns may run at the same time.
    bool take(const std::string& resource, const Answer& answer, bool was_last_page) {
        const std::lock_guard guard(mutex_);
        if (!answer.result.ok()) {
            failure_ = answer.result.failure();
        } else if (auto line = layout_.line_of(resource, answer.result.value())) {
            add(*std::move(line));
        }
        if (was_last_page) --due_;
        return due_ == 0;
    }

    void add(Line page) {
        Line& line = lines_[page.resource];
        std::ranges::move(line.holders, std::back_inserter(page.holders));
        std::ranges::move(line.waiters, std::back_inserter(page.waiters));
        line = std::move(page);
    }

    RedisWire& wire_;
    const Layout& layout_;
    const std::weak_ptr<const void> store_;
    const std::string prefix_;
    const Layout::Search search_;
    std::shared_ptr<Flight<std::vector<Line>>> flight_;
    std::set<std::string> keys_;
    std::mutex mutex_;
    std::map<std::string, Line> lines_;
    std::size_t due_ = 0;
    std::optional<Failure> failure_;
};

}  // namespace

Pending<std::vector<Line>> list(RedisWire& wire, const Layout& layout,
                                std::weak_ptr<const void> store, std::string prefix) {
    auto search = layout.search(prefix);
    if (!search.ok()) return search.failure();
    return std::make_shared<Listing>(wire, layout, std::move(store), std::move(prefix),
                                     std::move(search).value())
        ->start();
}

Pending<std::vector<Line>> look_at(RedisWire& wire, const Layout& layout,
                                   std::weak_ptr<const void> store, const std::string& resource) {
    return std::make_shared<Listing>(wire, layout, std::move(store), resource, Layout::Search{})
        ->start_with(layout.key_of(resource));
}

}  // namespace holdfast::inline v0::redis
