#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "port/clock.hpp"
#include "stores/net/address.hpp"
#include "stores/net/backoff.hpp"

namespace holdfast::inline v0::etcd {

/// The members of one etcd, and how they are used.
struct Cluster : net::ServerList {
    net::User user = {};
};

/// Throws Error with errc::bad_configuration. Reads the password's file, if one is named.
Cluster cluster_of(const StoreUrl& url);

/// How a member is reached.
class Access {
public:
    /// Reads its certificates. Throws Error with errc::bad_configuration when one cannot be read.
    explicit Access(const net::Address& member);

    /// By a connection of its own, which is made when it is first used.
    std::shared_ptr<grpc::Channel> connect() const;

private:
    net::Address member_;
    std::shared_ptr<grpc::ChannelCredentials> credentials_;
};

/// Which member is asked, and on which connection: the route. One that fails is left for the next
/// member; when all have failed, only after a while.
/// Threads: everything with one lock of its owner's.
class Members {
public:
    /// Throws Error as Access does.
    explicit Members(const Cluster& cluster);

    /// The number of the present one: never used again when it was left.
    std::uint64_t route() const noexcept { return route_; }
    /// Which of the members that is.
    std::size_t current() const noexcept { return current_; }
    const std::shared_ptr<grpc::Channel>& channel() const { return members_[current_].channel; }

    /// Nobody is asked before.
    Moment next() const noexcept { return backoff_.next(); }
    /// It did not serve. Means nothing when it is another one's turn already.
    void failed(std::uint64_t route, Moment now);
    /// As failed(), and it said nothing for so long that its connection may be dead: that is not
    /// used again. Those of a machine that is gone, or of a way that forgot them, say nothing.
    void silent(std::uint64_t route, Moment now);
    void answered() noexcept;

    /// It has done what was sent then, which none does without a leader.
    void served(std::uint64_t route, Moment sent) noexcept;
    /// Whether the one that is asked had a leader so lately that it could not know of its loss.
    bool has_leader(Moment now) const noexcept;

private:
    struct Reached {
        Access access;
        std::shared_ptr<grpc::Channel> channel;
    };

    std::vector<Reached> members_;
    std::size_t current_;
    std::uint64_t route_ = 0;
    Moment led_at_{};
    std::size_t failed_in_row_ = 0;
    net::Backoff backoff_;
};

}  // namespace holdfast::inline v0::etcd
