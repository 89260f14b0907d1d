#pragma once

#include <memory>

#include "stores/net/socket.hpp"

namespace holdfast::inline v0::net {

/// The same stream, encrypted, to a server that has proved its name. Throws Error with
/// errc::bad_configuration when a certificate or key of ours cannot be used.
std::shared_ptr<Socket> secured(const Address& address, std::unique_ptr<Socket> plain);

/// Throws the same, where the connection is another library's.
void check_certificates(const Address& address);

}  // namespace holdfast::inline v0::net
