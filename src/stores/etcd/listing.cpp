#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "port/told_time.hpp"
#include "stores/etcd/protocol.hpp"
#include "stores/etcd/transactions.hpp"
#include "stores/listed/awaited.hpp"
#include "stores/listed/note.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using namespace std::chrono_literals;

/// Beyond that, what is left of a lease is not asked.
constexpr std::size_t most_leases = 100;

/// Reads all keys that begin alike, and asks what is left of the leases that it found there.
class Listing : public std::enable_shared_from_this<Listing> {
public:
    using LinesFlight = Flight<std::vector<Line>>;

    /// The lines of all resources whose name begins like this.
    Listing(std::shared_ptr<LinesFlight> flight, std::string prefix)
        : flight_(std::move(flight)), prefix_(std::move(prefix)) {}

    /// Their keys begin like this.
    void start(Protocol& protocol, const std::string& keys) {
        messages::RangeRequest request = list(keys).request_range();
        // Of the empty one: from the first key that there can be.
        if (keys.empty()) request.set_key(std::string(1, '\0'));
        protocol.submit(std::move(request),
                        [self = shared_from_this()](Protocol& alive, const auto& answer) {
                            if (!answer.result.ok()) {
                                return self->flight_->complete(answer.result.failure());
                            }
                            self->take(answer.result.value().kvs());
                            self->ask_leases(alive);
                        });
    }

private:
    void take(const Pairs& pairs) {
        for (const messages::KeyValue& pair : pairs) {
            const auto resource = resource_of(pair.key());
            // A contender's key begins with the prefix also where its resource's name does not.
            if (!resource || !resource->starts_with(prefix_)) continue;
            auto neighbour = neighbour_of(pair, line_start(*resource));
            if (!neighbour) continue;
            lines_[*resource].push_back({*std::move(neighbour), pair});
            left_.try_emplace(pair.lease(), -1ms);
        }
    }

    void ask_leases(Protocol& protocol) {
        std::vector<std::int64_t> leases;
        for (const auto& [lease, left] : left_) {
            if (leases.size() < most_leases) leases.push_back(lease);
        }
        if (leases.empty()) return finish();
        awaited_.expect(leases.size());
        for (const std::int64_t lease : leases) {
            messages::LeaseTimeToLiveRequest request;
            request.set_id(lease);
            protocol.submit(std::move(request), [self = shared_from_this(), lease](
                                                    Protocol&, const auto& answer) {
                const bool last = self->awaited_.is_last([&] {
                    if (!answer.result.ok()) return;
                    const auto left = std::max<std::int64_t>(answer.result.value().ttl(), 0);
                    self->left_[lease] = told_as<std::chrono::seconds>(left);
                });
                if (last) self->finish();
            });
        }
    }

    void finish() {
        std::vector<Line> lines;
        for (auto& [resource, found] : lines_) lines.push_back(line_of(resource, found));
        flight_->complete(std::move(lines));
    }

    struct Found {
        Neighbour neighbour;
        messages::KeyValue pair;
    };

    Line line_of(const std::string& resource, std::vector<Found>& found) const {
        std::ranges::sort(found, {}, [](const Found& one) { return one.neighbour.order; });
        std::vector<Neighbour> neighbours;
        neighbours.reserve(found.size());
        for (const Found& one : found) neighbours.push_back(one.neighbour);
        const std::size_t admitted = listed::admitted_in(neighbours);
        Line line{.resource = resource,
                  .capacity = neighbours.front().capacity,
                  .holders = {},
                  .waiters = {}};
        for (std::size_t i = 0; i < found.size(); ++i) {
            Place place = place_of(resource, found[i]);
            if (i < admitted) {
                place.fence = static_cast<std::uint64_t>(found[i].neighbour.order);
                line.holders.push_back(std::move(place));
            } else {
                line.waiters.push_back(std::move(place));
            }
        }
        return line;
    }

    Place place_of(const std::string& resource, const Found& found) const {
        const std::int64_t lease = found.pair.lease();
        const Neighbour& one = found.neighbour;
        Place place = listed::place_of(resource, {lease, one.order, one.node}, one.weight,
                                       found.pair.value());
        place.lease_left = left_.at(lease);
        return place;
    }

    const std::shared_ptr<LinesFlight> flight_;
    const std::string prefix_;
    std::map<std::string, std::vector<Found>> lines_;
    std::map<std::int64_t, std::chrono::milliseconds> left_;  ///< of each lease
    listed::Awaited awaited_;
};

}  // namespace

Pending<std::vector<Line>> Protocol::inspect(std::string prefix) {
    const auto flight = std::make_shared<Listing::LinesFlight>(wire_);
    std::make_shared<Listing>(flight, prefix)->start(*this, prefix);
    return Pending<std::vector<Line>>(flight);
}

Pending<std::vector<Line>> Protocol::inspect_one(const std::string& resource) {
    const auto flight = std::make_shared<Listing::LinesFlight>(wire_);
    std::make_shared<Listing>(flight, resource)->start(*this, line_start(resource));
    return Pending<std::vector<Line>>(flight);
}

}  // namespace holdfast::inline v0::etcd
