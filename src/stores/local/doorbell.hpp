#pragma once

#include <string>

#include "port/fork.hpp"
#include "stores/ledger/records.hpp"
#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// Every client has one: a datagram socket in the store's folder. A datagram only says "look into
/// your mailbox". Threads: all members may be called from any thread.
class Doorbell {
public:
    /// Throws Error when the socket cannot be made.
    Doorbell(const Folder& folder, ledger::ClientId client);
    /// Removes the socket's file. In a forked child a Doorbell is not destroyed.
    ~Doorbell();
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;

    /// Readable when it was rung.
    int descriptor() const noexcept { return socket_.get(); }
    void silence() noexcept;

    enum class Answer {
        rung,    ///< now, or before and not yet looked
        nobody,  ///< nobody listens (any more)
    };
    Answer ring(ledger::ClientId other) const noexcept;

    /// Removes what a dead client has left in the folder.
    static void remove(const Folder& folder, ledger::ClientId client) noexcept;
    static void remove_all(const Folder& folder) noexcept;

private:
    const Folder& folder_;
    ledger::ClientId client_;
    ClosedInChild socket_;
};

}  // namespace holdfast::inline v0::local
