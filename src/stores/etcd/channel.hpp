#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "stores/net/address.hpp"

namespace holdfast::inline v0::etcd {

/// A connection to one member, which is made when it is first used. Throws Error with
/// errc::bad_configuration when a certificate or key cannot be read.
std::shared_ptr<grpc::Channel> channel_to(const net::Address& member);

}  // namespace holdfast::inline v0::etcd
