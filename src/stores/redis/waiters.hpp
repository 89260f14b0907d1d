#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"

namespace holdfast::inline v0::redis {

/// A contender of this client that waits, or may come to wait.
struct Waiter {
    Contender contender = {};
    std::string key;
    Ticket ticket;
    /// In which period of listening its enter was sent: what was pushed in an earlier one, or
    /// between two, was not heard.
    std::uint64_t period = 0;
    Moment lease_end = Moment::max();
};

/// The contenders of this client that wait. In the layouts of others nobody else knows of them.
/// Threads: all members may be called from any thread.
class Waiters {
public:
    void add(Waiter waiter);
    std::optional<Waiter> find(const Nonce& nonce) const;
    /// It is in line no more; what was known of it.
    std::optional<Waiter> remove(const Nonce& nonce);
    /// It was heard of, and goes on waiting.
    void goes_on(const Nonce& nonce, Moment lease_end);

    /// A renewal of it is about to be sent: what is known of it, as find() gives it. In the layouts
    /// of others a waiter's renewal takes the lock, and a late copy would do so after it has left.
    /// So there is a doubt about it until this one is answered, and no copy of it is left.
    std::optional<Waiter> begin_claim(const Nonce& nonce);
    /// Only of a claim that began: where begin_claim() knew the waiter.
    void end_claim(const Nonce& nonce);
    bool is_doubtful(const Nonce& nonce) const;
    /// A tombstone refuses whatever may still come.
    void doubt_no_more(const Nonce& nonce);

    /// Keeps what was pushed for one that nobody watches yet. That it is its turn stays said: it
    /// may have been overtaken by an earlier push.
    void keep(const Nonce& nonce, const Standing& pushed);
    /// What was kept, once.
    std::optional<Standing> take(const Nonce& nonce);

    /// Whoever has waited longest for the key.
    std::optional<Nonce> first(const std::string& key) const;
    std::vector<Waiter> all() const;

private:
    struct Entry {
        Waiter waiter;
        std::uint64_t order = 0;
        std::optional<Standing> pushed = std::nullopt;
    };

    mutable std::mutex mutex_;
    std::uint64_t next_order_ = 0;
    std::map<Nonce, Entry> entries_;
    std::map<std::string, std::map<std::uint64_t, Nonce>, std::less<>> by_key_;
    std::map<Nonce, std::size_t> doubtful_;  ///< claims that a copy may be left of
};

}  // namespace holdfast::inline v0::redis
