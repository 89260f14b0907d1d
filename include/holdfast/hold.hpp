#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>
#include <holdfast/export.hpp>

namespace holdfast::inline v0 {

namespace core {
class HoldState;
}

/// Why a hold is no longer one.
enum class Loss : std::uint8_t {
    none,       ///< it is held, or was released by its user
    overdue,    ///< the store could not be heard of before the lease ran out, or we were paused
    ended,      ///< the store says that the contender is gone: expired, broken or flushed
    inherited,  ///< this is a forked child: the hold belongs to the parent
};

/// How a release went.
enum class Released : std::uint8_t {
    in_time,   ///< the store took it back while the lease stood
    too_late,  ///< the lease had ended, another holder may have run
    unknown,   ///< the store could not be asked; it is taken out in the background, or by its lease
};

/// How a release ended that nobody waited for, called once on the client's callback thread. As
/// OnAcquired, it must not throw and should not block.
using OnReleased = Callback<void(Released)>;

/// An admitted contender. Movable; given back when it is destroyed. Its lease is renewed by itself
/// until then. One that was moved from, or that no lock gave, holds nothing: fence 0, not held.
/// Its destructor waits for the store's answer; but not where one must not wait, on a thread of
/// the library, and never when the hold was acquired asynchronously. Then it is given back as by
/// async_release(), and the end of the client gives it half a second.
/// Giving back never throws: where it finds no memory to ask the store with, the program ends. So
/// it is with lengthen(). Threads: the const members may be called from any thread while another
/// one releases.
class HOLDFAST_EXPORT Hold {
public:
    Hold() noexcept = default;
    Hold(Hold&&) noexcept;
    Hold& operator=(Hold&&) noexcept;
    ~Hold();

    /// The number of this hold: strictly larger than that of every earlier hold of the resource.
    /// Give it to what the lock guards, so that it can refuse a late writer. Of a hold of several
    /// resources: that of the first in name order. 0 where the store gives none (memcached), which
    /// nothing may take for a fence; LockOptions::fenced refuses such a store.
    std::uint64_t fence() const noexcept;
    /// One fence for each resource, in the order of their names (see MultiLock::names()).
    const std::vector<std::uint64_t>& fences() const noexcept;
    /// The resource's name; of several, the first.
    const std::string& name() const noexcept;

    /// Whether the lease still stands, by the clock, at this moment; exact also after a pause of
    /// the process. No check is atomic with the work that follows it: that is what fence() is for.
    bool held() const noexcept;
    /// How long the hold can be trusted if nothing more is heard of the store; zero when lost.
    std::chrono::nanoseconds remaining() const noexcept;
    /// Fires before the lease runs out while the process is scheduled, else as soon as it runs
    /// again. Its callbacks run on the client's callback thread, never on the renewing one. Asked
    /// for in a forked child it is stopped; a token from before the fork never fires there. Of a
    /// Hold that holds nothing it is stopped, too.
    std::stop_token lost() const noexcept;
    Loss loss() const noexcept;

    /// Bridges a time in which this process will not run and cannot renew, because it is about to
    /// be stopped: renews at once with that lease, or the longest that the store allows, and never
    /// with less than its own. The next renewal, when the process runs, has the hold's own lease
    /// again. False when that could not be had (on ZooKeeper it never can): then the hold is as it
    /// was, or lost.
    bool lengthen(std::chrono::milliseconds lease) noexcept;

    /// Gives the resource back. May be repeated; later calls answer what the first one did. Inside
    /// a callback of the library it does not wait, and answers `unknown` while the store has not.
    Released release() noexcept;
    /// The same without waiting, on any thread: what is asked for the resource asynchronously after
    /// this call comes behind it. May be repeated, and beside release(): both answer, or call,
    /// what became of the first of them; `unknown` where another thread waits for that just now.
    /// `done` may be empty. It keeps the client until it is called. Of a hold that holds nothing,
    /// and in a forked child, it is called at once.
    void async_release(OnReleased done = {}) noexcept;

private:
    friend class core::HoldState;
    explicit Hold(std::shared_ptr<core::HoldState> state) noexcept;
    std::shared_ptr<core::HoldState> state_;
};

/// A Hold, or nothing because the resource was busy. Optional-like; asking a temporary whether it
/// has a hold does not compile, for the hold would be gone before the guarded work starts:
///     if (semaphore.try_acquire()) work();              // does not compile
///     if (auto hold = semaphore.try_acquire()) work();  // guarded
/// Threads: as std::optional.
class [[nodiscard]] Attempt {
public:
    Attempt() = default;
    Attempt(Hold hold) : hold_(std::move(hold)) {}

    explicit operator bool() const& noexcept { return hold_.has_value(); }
    explicit operator bool() const&& = delete;
    bool has_value() const& noexcept { return hold_.has_value(); }
    bool has_value() const&& = delete;

    Hold* operator->() & noexcept { return &*hold_; }
    const Hold* operator->() const& noexcept { return &*hold_; }
    const Hold* operator->() const&& = delete;
    Hold& operator*() & noexcept { return *hold_; }
    const Hold& operator*() const& noexcept { return *hold_; }
    Hold&& operator*() && noexcept { return std::move(*hold_); }
    /// Throws std::bad_optional_access when the resource was busy.
    Hold& value() & { return hold_.value(); }
    Hold&& value() && { return std::move(hold_).value(); }

private:
    std::optional<Hold> hold_;
};

/// How an asynchronous acquisition ends, called once on the client's callback thread: a failure,
/// or null and an Attempt. It must not throw, and should not block: while it does, no other
/// callback of the client comes, not even the news that a hold is lost.
using OnAcquired = Callback<void(std::exception_ptr, Attempt)>;

}  // namespace holdfast::inline v0
