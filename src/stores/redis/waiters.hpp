#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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
    /// It was told that it is its turn, and has not been heard of since.
    bool summoned = false;
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

    /// A renewal of it was sent more than once, from when it waited perhaps: a copy may still come.
    void doubt(const Nonce& nonce);
    bool is_doubted(const Nonce& nonce) const;
    void trust(const Nonce& nonce);

    /// Keeps what was pushed for one that nobody watches yet.
    void keep(const Nonce& nonce, const Standing& pushed);
    /// What was kept, once.
    std::optional<Standing> take(const Nonce& nonce);

    /// Whoever has waited longest for the key, to be told that it is its turn.
    std::optional<Nonce> summon(const std::string& key);
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
    std::set<Nonce> doubted_;
    std::map<std::string, std::map<std::uint64_t, Nonce>, std::less<>> by_key_;
};

}  // namespace holdfast::inline v0::redis
