#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "port/contender.hpp"

namespace holdfast::inline v0::sql {

/// Contenders of this client that wait, or may have to.
/// Threads: all members may be called from any thread.
class Waiters {
public:
    /// `period`: that of listening in which its enter was sent; see SqlWire::listening().
    void add(const Ticket& ticket, std::uint64_t period);
    /// It is in line no more.
    void remove(const Nonce& nonce);
    /// The period in which it was added; nothing when it is not there.
    std::optional<std::uint64_t> period_of(const Nonce& nonce) const;

    /// Keeps what was told to one that nobody watches yet. That it is its turn stays said: it may
    /// have been overtaken by an earlier word.
    void keep(const Nonce& nonce, const Standing& told);
    /// What was kept, once.
    std::optional<Standing> take(const Nonce& nonce);

    std::vector<Ticket> all() const;

private:
    struct Entry {
        Ticket ticket;
        std::uint64_t period = 0;
        std::optional<Standing> told = std::nullopt;
    };

    mutable std::mutex mutex_;
    std::map<Nonce, Entry> entries_;
};

}  // namespace holdfast::inline v0::sql
