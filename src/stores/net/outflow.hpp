#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "stores/net/socket.hpp"

namespace holdfast::inline v0::net {

/// What was encoded for a connection, and not yet taken by its socket. Whoever has something to
/// send pours, one at a time, also what others want to send meanwhile.
///
/// When that fails halfway, for want of memory say, nobody knows what of it was encoded or sent.
/// Then nothing more goes out before clear(): whoever leads is to give the connection up.
/// Threads: all members under the lock of the wire.
class Outflow {
public:
    bool empty() const noexcept { return bytes_.empty(); }
    bool is_pouring() const noexcept { return pouring_; }
    /// Whether room in the socket is to be polled for.
    bool wants_room() const noexcept { return !empty() && !pouring_ && !torn_; }
    /// Whether it has failed.
    bool is_torn() const noexcept { return torn_; }
    /// Of a connection that was given up.
    void clear() noexcept {
        bytes_.clear();
        torn_ = false;
    }
    std::string take() { return std::exchange(bytes_, {}); }

    /// Hands everything to the socket that `encode(bytes)` appends, until that is nothing or the
    /// socket has no more room. The lock is open while the kernel works.
    template <class Link, class Encode>
    void pour(std::unique_lock<std::mutex>& lock, Link& link, Encode encode) {
        pouring_ = true;
        try {
            pour_all(lock, link, encode);
        } catch (const std::exception&) {
            if (!lock.owns_lock()) lock.lock();
            torn_ = true;
        }
        pouring_ = false;
    }

private:
    template <class Link, class Encode>
    void pour_all(std::unique_lock<std::mutex>& lock, Link& link, Encode& encode) {
        while (link.ready() && !torn_) {
            encode(bytes_);
            if (empty()) break;
            // A copy: the link may have another one by the time this is written.
            const auto socket = std::shared_ptr<Socket>(link.socket());
            std::string bytes = take();
            lock.unlock();
            const auto transfer = write_all(*socket, bytes);
            lock.lock();
            // Another connection by now: nothing of this means anything on it.
            if (link.socket() != socket) continue;
            if (transfer.bytes < bytes.size()) {
                bytes_.assign(bytes, transfer.bytes);
                // What is wrong, reading will find out.
                if (transfer.outcome == Socket::Outcome::failed) socket->shut_down();
                break;
            }
            // Its room is there for the next ones.
            bytes.clear();
            bytes_ = std::move(bytes);
        }
    }

    std::string bytes_;
    bool pouring_ = false;
    bool torn_ = false;
};

}  // namespace holdfast::inline v0::net
