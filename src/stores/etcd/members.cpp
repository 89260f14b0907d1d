#include "stores/etcd/members.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::inline v0::etcd {

namespace {

/// Members notice the loss of their leader after the time of an election, a second usually.
constexpr std::chrono::milliseconds unnoticed{100};

/// Clients spread over the members.
std::size_t any_of(std::size_t count) {
    return static_cast<std::size_t>(BootClock::now().time_since_epoch().count()) % count;
}

}  // namespace

Members::Members(const Cluster& cluster) : current_(any_of(cluster.members.size())) {
    for (const net::Address& member : cluster.members) {
        Access access(member);
        auto channel = access.connect();
        members_.push_back({std::move(access), std::move(channel)});
    }
}

void Members::failed(std::uint64_t route, Moment now) {
    if (route != route_) return;
    ++route_;
    current_ = (current_ + 1) % members_.size();
    led_at_ = {};
    if (++failed_in_row_ % members_.size() == 0) backoff_.failed(now);
}

void Members::silent(std::uint64_t route, Moment now) {
    if (route != route_) return;
    members_[current_].channel = members_[current_].access.connect();
    failed(route, now);
}

void Members::answered() noexcept {
    if (failed_in_row_ == 0) return;
    failed_in_row_ = 0;
    backoff_.succeeded();
}

void Members::served(std::uint64_t route, Moment sent) noexcept {
    if (route == route_) led_at_ = std::max(led_at_, sent);
}

bool Members::has_leader(Moment now) const noexcept {
    return now < led_at_ + unnoticed;
}

}  // namespace holdfast::inline v0::etcd
