#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "port/watchers.hpp"
#include "stores/memcached/item.hpp"

namespace holdfast::inline v0::memcached {

/// One that a client contends with. Memcached knows of it only while it holds.
struct Applicant {
    enum class Found : std::uint8_t { free, held };
    enum class Copies : std::uint8_t { none, left };

    std::shared_ptr<const Identity> who;
    std::chrono::milliseconds lease{0};
    /// Of its item, while it holds.
    std::optional<Version> version = std::nullopt;
    /// Its turn, as far as this client knows: nobody held when the lock was looked at last.
    bool finds_it_free = false;
    /// So many requests are under way that would make its item.
    int adds = 0;
    /// A copy of such a request was lost, and may yet be carried out.
    bool in_doubt = false;
    /// When the last look that was answered was sent.
    Moment heard{};
    int looks = 0;
    std::uint64_t order = 0;  ///< among those of this client that wait; nought: it does not

    /// Whether its item may be made by what is under way.
    bool may_come_late() const noexcept { return adds > 0 || in_doubt; }
};

/// Those of one client that contend, and how they are told of each other.
/// Threads: all members may be called from any thread, with no lock of the store held.
class Applicants {
public:
    /// It is about to ask for the lock; also once more.
    void enter(const std::shared_ptr<const Identity>& who, std::chrono::milliseconds lease);
    std::optional<Applicant> find(const Nonce& nonce) const;
    /// What was known of it.
    std::optional<Applicant> forget(const Nonce& nonce);

    /// What becomes of a request that would make its item.
    enum class Adding : std::uint8_t {
        begun,  ///< it is about to be sent
        holds,  ///< it must not be: the item is there, or it is lost
        left,   ///< it must not be: what it made would be nobody's
    };
    Adding adding(const Nonce& nonce);
    /// It was answered, or given up: whether a copy of it is left. Whether an item that it has made
    /// is the only one that there can be: no other such request is under way, or in doubt.
    bool added(const Nonce& nonce, Applicant::Copies copies);
    /// It holds; told by an item of this version.
    void holds(const Nonce& nonce, const Version& version);
    /// Of its item, while it holds.
    std::optional<Version> version_of(const Nonce& nonce) const;
    /// A look was answered.
    void looked(const Nonce& nonce, Moment sent, Applicant::Found found);
    /// After how long to look again: later each time, never at the same moment as others.
    std::chrono::nanoseconds next_look(const Nonce& nonce);

    /// Whether nobody else keeps a vigil for it; whoever does, says when it is over.
    bool begins_vigil(const Nonce& nonce);
    void vigil_is_over(const Nonce& nonce);

    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved);
    /// This client has given the resource back: whoever of it has waited longest is told.
    void given_back(const std::string& resource);

private:
    using Lock = std::lock_guard<std::mutex>;
    template <class Change>
    void change(const Nonce& nonce, Change how);
    void wait(Applicant& applicant);
    void stop_waiting(Applicant& applicant);
    std::optional<Nonce> next_of(const std::string& resource);

    const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
    mutable std::mutex mutex_;
    std::uint64_t last_order_ = 0;
    std::map<Nonce, Applicant> applicants_;
    std::set<Nonce> vigils_;
    /// Those that have found it held, by the order of that.
    std::map<std::string, std::map<std::uint64_t, Nonce>, std::less<>> waiting_;
};

}  // namespace holdfast::inline v0::memcached
