#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "port/failure.hpp"
#include "port/watchers.hpp"
#include "stores/scripted/news.hpp"

namespace holdfast::inline v0::scripted {

/// Ends the place of a contender whose enter was sent more than once: a copy may still come.
inline constexpr char sent_again = '!';

/// A contender on its way out.
struct Departure {
    Nonce nonce;
    /// A request of it may still come, and is to be refused from now on.
    bool plants_tombstone = false;
    /// The resource, where others of this client are to be told once it has left.
    std::optional<std::string> waited_for = std::nullopt;
};

/// The contenders of one client that wait, or may come to wait, and how they are told of what
/// concerns them. What can be overridden is for servers that have no line for them, so that they
/// have to know of each other; otherwise that is the server's affair.
/// Threads: all members may be called from any thread, with no lock of the store held.
class Waiters {
public:
    virtual ~Waiters() = default;

    /// Its enter is about to be sent: what concerns it may be pushed before it is answered.
    /// `period`: of listening without a gap; what was pushed in an earlier one, or between two, was
    /// not heard. Nought while nothing is heard: then it will have to ask anyway.
    virtual void expect(const Contender& contender, std::uint64_t period);
    /// Its enter was answered, and it does not wait; or it was not answered.
    virtual void forget(const Nonce& nonce);

    /// Calls `line_moved` with what it is told from now on.
    virtual std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved);
    /// Whether what was pushed in this period since its enter is here, whoever watched.
    bool has_heard_all_in(std::uint64_t period, const Nonce& nonce) const;
    /// What was pushed before it was watched.
    void tell_what_was_kept(const Nonce& nonce);
    /// What was pushed. It is kept for one that nobody watches yet.
    void tell(const News& news);
    /// What it was answered that asked for itself: if that is news.
    void tell_answer(const Nonce& nonce, const Result<Standing>& result);
    /// Those that are watched.
    std::vector<Ticket> watched() const;

    /// Whether its lease has ended, as only this client can tell.
    virtual bool is_over(const Nonce& /*nonce*/) const { return false; }
    /// Where it stands now, as a look or a renewal was answered.
    virtual void settled(const Nonce& nonce, const Standing& standing);
    /// Its renewal was answered, and it goes on waiting.
    virtual void goes_on(const Nonce& /*nonce*/, Moment /*lease_end*/) {}
    /// The renewal with this serial was answered, and no copy of it is left.
    virtual void claim_ended(const Nonce& /*nonce*/, std::uint64_t /*serial*/) {}

    /// Its leave is about to be sent.
    virtual Departure leave(const Ticket& ticket);
    /// How that was answered.
    virtual void left(const Departure& /*departure*/, const Result<Standing>& /*result*/) {}

protected:
    void tell(const Nonce& nonce, const Standing& standing);

private:
    struct Entry {
        Ticket ticket;
        std::uint64_t period = 0;
        std::optional<Standing> pushed = std::nullopt;
    };

    void keep(const Nonce& nonce, const Standing& pushed);
    void tell_the_only_one(const Standing& standing);

    const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
    mutable std::mutex mutex_;
    std::map<Nonce, Entry> entries_;
};

}  // namespace holdfast::inline v0::scripted
