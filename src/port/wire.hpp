#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <holdfast/callback.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>

#include "port/clock.hpp"

namespace holdfast::inline v0 {

/// Marks the running thread as inside a callback, where waiting for a Pending is refused.
class HOLDFAST_EXPORT CallbackScope {
public:
    CallbackScope() noexcept;
    ~CallbackScope();
    CallbackScope(const CallbackScope&) = delete;
    CallbackScope& operator=(const CallbackScope&) = delete;
};

HOLDFAST_EXPORT bool inside_callback() noexcept;

/// Throws std::logic_error inside a CallbackScope.
HOLDFAST_EXPORT void refuse_inside_callback();

/// Where a store's callers wait. Leader and followers: of the callers that are blocked, one (the
/// leader) does the store's I/O for all of them on its own thread, the others sleep. So a single
/// caller pays for no thread of ours, and many share what one read brings. When nobody is blocked
/// but somebody expects callbacks (an Interest), a pump thread leads.
/// The base class does no I/O: it serves a store whose callbacks come from its callers alone.
class HOLDFAST_EXPORT Wire {
    struct State;

public:
    Wire();
    virtual ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    /// A caller that can be blocked. Owned by the caller; used with one Wire only.
    class Waiter {
    public:
        Waiter() = default;
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;

    private:
        friend class Wire;
        enum : std::uint32_t { awake, asleep, told, called };

        bool signalled_ = false;
        /// What it sleeps on, without a lock: `told` takes the signal with it, so that whoever is
        /// woken by one need not wait for the lock of all; `called` is to lead.
        std::atomic<std::uint32_t> state_{awake};
        std::list<Waiter*>::iterator place_{};  ///< among the followers, while asleep
    };

    /// Blocks until `waiter` was signalled, and takes the signal; false when `until` came first.
    bool wait(Waiter& waiter, std::optional<Moment> until = std::nullopt);
    /// Ends the wait of `waiter`. May be called from any thread, also before the wait.
    void signal(Waiter& waiter);

    /// While one exists, callbacks come without a blocked caller.
    class Interest {
    public:
        Interest(Interest&&) noexcept = default;
        Interest& operator=(Interest&&) = delete;
        ~Interest();

    private:
        friend class Wire;
        explicit Interest(std::shared_ptr<State> counts) : counts_(std::move(counts)) {}
        std::shared_ptr<State> counts_;
    };
    Interest interest();

    /// Has the thread that an Interest may need, or throws Error: so that interest() does not fail
    /// later, where nobody can be told.
    void make_ready();
    /// Asks the pump thread to end, and does not wait: callbacks come to blocked callers alone.
    void end() noexcept;

protected:
    using Due = std::vector<Callback<void()>>;

    /// One turn of I/O by the leader, with no lock held: blocks until there is something to read,
    /// `until`, or interrupt_descriptor() is readable, and appends the callbacks to be run. They
    /// run after the leadership was passed on.
    virtual void turn(std::optional<Moment> until, Due& due);

    /// During a turn: whether a caller leads, who waits for something himself, and not the pump.
    bool led_by_caller() const noexcept { return state_->leader != nullptr; }

    /// Ends the turn in progress, or else the next one, from any thread: makes
    /// interrupt_descriptor() readable. For those whose turn cannot poll a descriptor to override.
    virtual void interrupt() noexcept;
    /// Readable when the turn in progress should end; turn() calls take_interrupt() then.
    int interrupt_descriptor() const noexcept;
    void take_interrupt() noexcept;

    /// Something is under way that perhaps nobody waits for: unless somebody leads then, the pump
    /// does once. An earlier moment that was named stays.
    void lead_by(Moment moment);

    /// Whether callbacks need a thread that leads. One whose callbacks come by themselves says no,
    /// and then an Interest starts nothing.
    virtual bool needs_pump() const noexcept { return true; }

    /// Ends the pump thread. A derived class calls it first in its destructor.
    void close() noexcept;

private:
    struct State {
        std::mutex mutex;
        bool led = false;
        Waiter* leader = nullptr;  ///< null while the pump leads
        std::list<Waiter*> followers;
        bool leader_called = false;  ///< one of them was woken to lead, and has not come yet
        std::size_t interests = 0;
        bool closed = false;
        std::optional<Moment> lead_by;
        std::condition_variable pump_wanted;
        Due spare;  ///< empty
        int interrupt = -1;
        ~State();
    };
    using Lock = std::unique_lock<std::mutex>;

    void lead(Lock& lock, Waiter* waiter, std::optional<Moment> until);
    /// Whether it was told.
    bool follow(Lock& lock, Waiter& waiter, std::optional<Moment> until);
    static void sleep(Waiter& waiter, std::optional<Moment> until);
    static void rouse(Waiter& waiter) noexcept;
    static void pass_on(State& state);
    void pump(const std::shared_ptr<State>& state);
    static void await_work(State& state, Lock& lock);
    void start_pump();

    std::shared_ptr<State> state_;
    std::thread pump_;
};

/// What is wrong when a descriptor cannot be had, by errno.
HOLDFAST_EXPORT Error out_of_descriptors();

/// How long poll() may block: -1 without a limit, else rounded up to a millisecond.
HOLDFAST_EXPORT int poll_timeout(std::optional<Moment> until) noexcept;

}  // namespace holdfast::inline v0
