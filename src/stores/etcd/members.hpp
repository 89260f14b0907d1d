#pragma once

#include <grpcpp/channel.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "port/clock.hpp"
#include "stores/etcd/cluster.hpp"
#include "stores/net/backoff.hpp"

namespace holdfast::inline v0::etcd {

/// Which member is asked. One that fails is left for the next; when all have failed, only after a
/// while.
/// Threads: everything with one lock of its owner's.
class Members {
public:
    /// Throws Error as channel_to() does.
    explicit Members(const Cluster& cluster);

    std::size_t current() const noexcept { return current_; }
    std::size_t count() const noexcept { return channels_.size(); }
    const std::shared_ptr<grpc::Channel>& channel(std::size_t member) const {
        return channels_[member];
    }

    /// Nobody is asked before.
    Moment next() const noexcept { return backoff_.next(); }
    /// It did not answer. Means nothing when it is another one's turn already.
    void failed(std::size_t member, Moment now);
    void answered() noexcept;

    /// It has done what was sent then, which none does without a leader.
    void served(std::size_t member, Moment sent) noexcept;
    /// Whether the one that is asked had a leader so lately that it could not know of its loss.
    bool has_leader(Moment now) const noexcept;

private:
    std::vector<std::shared_ptr<grpc::Channel>> channels_;
    std::size_t current_;
    Moment led_at_{};
    std::size_t failed_in_row_ = 0;
    net::Backoff backoff_;
};

}  // namespace holdfast::inline v0::etcd
