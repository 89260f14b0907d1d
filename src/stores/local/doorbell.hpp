#pragma once

#include <sys/types.h>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "port/fork.hpp"
#include "stores/ledger/line_page.hpp"
#include "stores/ledger/table.hpp"
#include "stores/local/descriptor.hpp"
#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// Every client has one: a datagram socket in the store's folder, by which others tell it of its
/// waiters. Threads: all members may be called from any thread.
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
    /// The first that was told and not yet heard; none when it does not ring.
    std::optional<ledger::Told> hear() noexcept;

    enum class Answer {
        told,
        full,    ///< it has yet to hear of so much that no more fits
        nobody,  ///< nobody listens (any more)
    };
    Answer tell(const ledger::Told& told) noexcept;

    /// Removes what a dead client has left in the folder.
    static void remove(const Folder& folder, ledger::ClientId client) noexcept;
    static void remove_all(const Folder& folder) noexcept;

private:
    struct Message {
        Nonce nonce{};
        Standing::State state = Standing::State::waiting;
    };
    static_assert(sizeof(Message) == 17);

    int line_to(ledger::ClientId other);
    ssize_t shout(const ledger::Told& told, const Message& message) const noexcept;

    const Folder& folder_;
    ledger::ClientId client_;
    ClosedInChild socket_;
    std::mutex mutex_;
    std::unordered_map<ledger::ClientId, Descriptor> lines_;
};

/// What clients could not be told because they have yet to hear of so much else, as rows of the
/// table.
void post(ledger::Table& table, const ledger::Told& told);

/// Takes out everything for a client.
std::vector<ledger::Told> take_mail(ledger::Table& table, ledger::ClientId client);

}  // namespace holdfast::inline v0::local
