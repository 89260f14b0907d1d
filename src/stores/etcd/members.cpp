#include "stores/etcd/members.hpp"

#include "stores/etcd/channel.hpp"

namespace holdfast::inline v0::etcd {

namespace {

/// Clients spread over the members.
std::size_t any_of(std::size_t count) {
    return static_cast<std::size_t>(BootClock::now().time_since_epoch().count()) % count;
}

}  // namespace

Members::Members(const Cluster& cluster) : current_(any_of(cluster.members.size())) {
    for (const net::Address& member : cluster.members) channels_.push_back(channel_to(member));
}

void Members::failed(std::size_t member, Moment now) {
    if (member != current_) return;
    current_ = (current_ + 1) % channels_.size();
    if (++failed_in_row_ % channels_.size() == 0) backoff_.failed(now);
}

void Members::answered() noexcept {
    if (failed_in_row_ == 0) return;
    failed_in_row_ = 0;
    backoff_.succeeded();
}

}  // namespace holdfast::inline v0::etcd
