#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stores/net/address.hpp"

namespace holdfast::inline v0::net {

/// An address as the kernel wants it.
struct Endpoint {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

/// A byte stream to the server that never blocks unless it is asked to. One thread may read while
/// another writes.
class Socket {
public:
    enum class Outcome : std::uint8_t {
        done,
        would_block,  ///< poll for descriptor() and wanted(), then again
        closed,       ///< by the server
        failed,       ///< `why` says how
    };
    struct Transfer {
        Outcome outcome = Outcome::done;
        std::size_t bytes = 0;
        std::string why = {};
        /// Of a failure: trying again cannot mend it.
        bool hopeless = false;
    };

    virtual ~Socket() = default;

    /// Goes on with what must happen before bytes can be sent.
    virtual Transfer establish() = 0;
    virtual Transfer read(char* buffer, std::size_t size) = 0;
    /// How long await() blocks at most; nothing when it cannot: then poll() and read().
    virtual std::optional<std::chrono::milliseconds> patience() const noexcept { return {}; }
    /// As read(), but blocks until something has come, and spares the poll() before it.
    virtual Transfer await(char* buffer, std::size_t size) { return read(buffer, size); }
    virtual Transfer write(std::string_view bytes) = 0;
    /// What to poll for while it is being established: POLLIN or POLLOUT.
    virtual short wanted() const noexcept = 0;
    virtual int descriptor() const noexcept = 0;
    /// Ends it for both sides; a thread that is about to write finds out.
    virtual void shut_down() noexcept = 0;
};

/// As much as it takes without blocking: TLS takes a record at a time.
Socket::Transfer write_all(Socket& socket, std::string_view bytes);

/// The same stream, encrypted, to a server that has proved its name. Throws Error with
/// errc::bad_configuration when a certificate or key of ours cannot be used.
std::shared_ptr<Socket> secured(const Address& address, std::unique_ptr<Socket> plain);
/// Throws the same, where the connection is another library's.
void check_certificates(const Address& address);

/// Starts to connect. Throws Error when not even that is possible.
std::shared_ptr<Socket> connect_to(const Address& address, const Endpoint& endpoint);

}  // namespace holdfast::inline v0::net
