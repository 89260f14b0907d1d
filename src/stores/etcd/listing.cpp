#include "stores/etcd/listing.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "stores/etcd/transactions.hpp"
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
    void start(Common& common, const std::string& keys) {
        messages::RangeRequest request = list(keys).request_range();
        // Of the empty one: from the first key that there can be.
        if (keys.empty()) request.set_key(std::string(1, '\0'));
        common.submit(std::move(request),
                      [self = shared_from_this()](Common& alive, const auto& answer) {
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
            auto seat = seat_of(pair, line_start(*resource));
            if (!seat) continue;
            lines_[*resource].push_back({*std::move(seat), pair});
            left_.try_emplace(pair.lease(), -1ms);
        }
    }

    void ask_leases(Common& common) {
        std::vector<std::int64_t> leases;
        for (const auto& [lease, left] : left_) {
            if (leases.size() < most_leases) leases.push_back(lease);
        }
        awaited_ = leases.size();
        if (leases.empty()) return finish();
        for (const std::int64_t lease : leases) {
            messages::LeaseTimeToLiveRequest request;
            request.set_id(lease);
            common.submit(std::move(request), [self = shared_from_this(), lease](
                                                  Common&, const auto& answer) {
                if (answer.result.ok()) {
                    const auto left = std::max<std::int64_t>(answer.result.value().ttl(), 0);
                    self->left_[lease] = std::chrono::seconds{left};
                }
                if (--self->awaited_ == 0) self->finish();
            });
        }
    }

    void finish() {
        std::vector<Line> lines;
        for (auto& [resource, found] : lines_) lines.push_back(line_of(resource, found));
        flight_->complete(std::move(lines));
    }

    struct Found {
        Seat seat;
        messages::KeyValue pair;
    };

    Line line_of(const std::string& resource, std::vector<Found>& found) const {
        std::ranges::sort(found, {}, [](const Found& one) { return one.seat.order; });
        std::vector<Seat> seats;
        seats.reserve(found.size());
        for (const Found& one : found) seats.push_back(one.seat);
        const std::size_t admitted = listed::admitted_in(seats);
        Line line{
            .resource = resource, .capacity = seats.front().capacity, .holders = {}, .waiters = {}};
        for (std::size_t i = 0; i < found.size(); ++i) {
            Place place = place_of(resource, found[i]);
            if (i < admitted) {
                place.fence = static_cast<std::uint64_t>(found[i].seat.order);
                line.holders.push_back(std::move(place));
            } else {
                line.waiters.push_back(std::move(place));
            }
        }
        return line;
    }

    Place place_of(const std::string& resource, const Found& found) const {
        const auto note = listed::note_in(found.pair.value());
        const std::int64_t lease = found.pair.lease();
        return {.ticket = {resource, found.seat.nonce.value_or(Nonce{}),
                           text_of({lease, found.seat.order, found.seat.node})},
                .owner = note ? note->owner : found.pair.value(),
                .weight = found.seat.weight,
                .lease_left = left_.at(lease),
                .host = note ? note->host : "",
                .pid = note ? note->pid : 0,
                .foreign = !note};
    }

    const std::shared_ptr<LinesFlight> flight_;
    const std::string prefix_;
    std::map<std::string, std::vector<Found>> lines_;
    std::map<std::int64_t, std::chrono::milliseconds> left_;  ///< of each lease
    std::size_t awaited_ = 0;
};

}  // namespace

Pending<std::vector<Line>> list_lines(const std::shared_ptr<Common>& common,
                                      const std::string& prefix) {
    const auto flight = std::make_shared<Listing::LinesFlight>(common->wire);
    std::make_shared<Listing>(flight, prefix)->start(*common, prefix);
    return Pending<std::vector<Line>>(flight);
}

Pending<std::vector<Line>> list_line(const std::shared_ptr<Common>& common,
                                     const std::string& resource) {
    const auto flight = std::make_shared<Listing::LinesFlight>(common->wire);
    std::make_shared<Listing>(flight, resource)->start(*common, line_start(resource));
    return Pending<std::vector<Line>>(flight);
}

}  // namespace holdfast::inline v0::etcd
