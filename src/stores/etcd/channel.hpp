#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>

#include "stores/net/address.hpp"

namespace holdfast::inline v0::etcd {

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

}  // namespace holdfast::inline v0::etcd
