#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "port/store.hpp"
#include "stores/redlock/candidates.hpp"
#include "stores/redlock/desk.hpp"
#include "stores/scripted/waiters.hpp"

namespace holdfast::inline v0::redlock {

/// Those of one client who wait, and what the nodes call to them.
/// Threads: all members but begin() may be called from any thread.
class Waiting {
public:
    Waiting(RedlockWire& wire, Candidates& candidates, Terms terms)
        : wire_(wire), candidates_(candidates), terms_(terms) {}

    /// Before anybody waits. What is pushed later than the store ends concerns nobody.
    void begin(const std::weak_ptr<const void>& store);

    /// Its try is about to be made: it may be called before that is answered.
    void expect(const Contender& contender) { waiters_.expect(contender, period_); }
    void forget(const Nonce& nonce) { waiters_.forget(nonce); }
    /// Where it stands now, as its try was answered.
    void settled(const Nonce& nonce, const Standing& standing) {
        waiters_.settled(nonce, standing);
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved);

    // What one of the nodes pushes.

    void missed();
    void pushed(const redis::Reply& message);

private:
    bool hears_enough() const;

    RedlockWire& wire_;
    Candidates& candidates_;
    const Terms terms_;
    scripted::Waiters waiters_;
    std::vector<std::shared_ptr<RedlockWire::Listener>> ears_;
    std::mutex mutex_;
    std::uint64_t periods_ = 0;             ///< under mutex_
    std::atomic<std::uint64_t> period_{0};  ///< of hearing a majority; nought: that is not so
};

}  // namespace holdfast::inline v0::redlock
