#pragma once

#include <chrono>
#include <span>
#include <string_view>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "port/store.hpp"
#include "port/watchers.hpp"
#include "stores/ledger/line_page.hpp"

namespace holdfast::inline v0::ledger {

/// How long a delayed enter is refused after the leave that looked for it.
inline constexpr std::chrono::minutes tombstone_time{1};

/// The lines of an embedded store, and the verbs of the port on them. Pure: time and storage are
/// inputs, and who is to be woken is an output. One Ledger serves one transaction. Throws Error
/// when the table holds what cannot be: then the transaction must be undone.
class Ledger {
public:
    /// `client` is the one that asks.
    Ledger(Scene scene, ClientId client) : scene_(scene), client_(client) {}

    /// Store::enter. A failure leaves nothing of the request.
    Result<std::vector<Entry>> enter(std::span<const Contender> contenders);
    Standing standing(const Ticket& ticket);
    Standing renew(const Ticket& ticket, Extension extension);
    Standing leave(const Ticket& ticket);
    std::vector<Line> inspect(std::string_view prefix);

    /// Takes every contender of a dead client out of its line.
    void bury(ClientId client);

    /// The clients whose death would matter to this waiter: that of the waiter before it or, for
    /// the first in line, those of all holders. Empty when it does not wait.
    std::vector<ClientId> ahead_of(const Ticket& ticket);

    /// Whom to wake once the transaction is committed, in order of urgency.
    const std::vector<Told>& told() const noexcept { return told_; }

private:
    Result<Entry> enter(const Contender& contender);
    Result<Entry> enter_line(LinePage& page, const Contender& contender);
    std::optional<std::uint64_t> repeated(const LinePage& page, const Contender& contender);
    Standing come_again(const Ticket& ticket, std::chrono::milliseconds lease);
    template <class Extend>
    Standing hear_of(const Ticket& ticket, Extend extend);
    Standing claim(LinePage& page, Record record);
    void count_again(LinePage& page, const Ticket& ticket);
    std::optional<std::uint64_t> ticket_of(const LinePage& page, const Ticket& ticket);
    std::optional<Row<Record>> waiter_of(const LinePage& page, const Ticket& ticket);
    Line listed(const LinePage& page) const;

    bool has_tombstone(const Nonce& nonce);
    void plant_tombstone(const Nonce& nonce);

    Scene scene_;
    ClientId client_;
    std::vector<Told> told_;
};

/// Calls those of `client` among the told.
inline void call(Watchers& watchers, std::span<const Told> told, ClientId client) {
    for (const Told& one : told) {
        if (one.client == client) watchers.call(one.nonce, Standing{.state = one.state});
    }
}

}  // namespace holdfast::inline v0::ledger
