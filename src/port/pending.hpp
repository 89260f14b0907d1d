#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

#include <holdfast/callback.hpp>

#include "port/failure.hpp"
#include "port/wire.hpp"

namespace holdfast::inline v0 {

/// What `make` returns, or that there was no memory for that: in words that need none. What was
/// asked for may have been done all the same.
template <class T, class Make>
Result<T> or_out_of_memory(Make make) {
    try {
        return make();
    } catch (const std::exception&) {
        return Failure{errc::unreachable, Effect::unknown, "out of memory"};
    }
}

/// An answer on its way. The store keeps one end and completes it once; a Pending is the other.
/// Threads: complete() may race with everything that the Pending does.
template <class T>
class Flight {
public:
    explicit Flight(Wire& wire) : wire_(wire) {}

    /// What happens to an answer that nobody wants any more: the Pending was dropped, or its
    /// caller ran out of time. A store takes a contender out of line here. Set it before the
    /// Pending is handed out.
    void on_orphan(Callback<void(Result<T>)> orphan) { orphan_ = std::move(orphan); }

    /// Whether somebody still waits for the answer, or wants to be told.
    bool is_wanted() {
        const std::lock_guard guard(mutex_);
        return wanted_;
    }

    /// Called once, by the store, as one of the callbacks of a Wire's turn: with no lock and no
    /// leadership held. The wire must outlive the call, whatever the one who is told does.
    void complete(Result<T> result) {
        Callback<void(Result<T>)> callback;
        std::unique_lock lock(mutex_);
        if (!wanted_) {
            callback = std::move(orphan_);
        } else if (then_) {
            callback = std::move(then_);
            interest_.reset();
        } else {
            result_ = std::move(result);
            // Whoever wakes takes the result at once, and must not find the lock taken.
            lock.unlock();
            return wire_.signal(waiter_);
        }
        lock.unlock();
        if (!callback) return;
        const CallbackScope scope;
        callback(std::move(result));
    }

    /// The same with what `make` returns, or that there was no memory for that: whoever waits must
    /// not do so for ever.
    template <class Make>
    void complete_with(Make make) {
        complete(or_out_of_memory<T>(std::move(make)));
    }

private:
    template <class>
    friend class Pending;

    Result<T> wait(std::optional<Moment> until) {
        wire_.wait(waiter_, until);
        return take();
    }

    Result<T> wait(std::optional<Moment> until, const std::stop_token& stop,
                   std::chrono::nanoseconds once_stopped) {
        {
            const std::stop_callback woken(stop, [this] { wire_.signal(waiter_); });
            // Without a limit a wire may wait for the answer alone, and hear of nothing else.
            constexpr std::chrono::hours far_off{1};
            wire_.wait(waiter_, until.value_or(BootClock::now() + far_off));
        }
        if (stop.stop_requested() && !is_here()) {
            const Moment at_latest = BootClock::now() + once_stopped;
            wire_.wait(waiter_, std::min(until.value_or(at_latest), at_latest));
        }
        return take();
    }

    bool is_here() {
        const std::lock_guard guard(mutex_);
        return result_.has_value();
    }

    Result<T> take() {
        const std::lock_guard guard(mutex_);
        if (result_) return std::move(*result_);
        // The answer, should it still come, belongs to nobody: the slot stays as a tombstone.
        wanted_ = false;
        return Failure{errc::unreachable, Effect::unknown, "no answer in time"};
    }

    void then(Callback<void(Result<T>)> callback) {
        std::unique_lock guard(mutex_);
        if (!result_) {
            then_ = std::move(callback);
            interest_.emplace(wire_.interest());
            return;
        }
        guard.unlock();
        const CallbackScope scope;
        callback(std::move(*result_));
    }

    void drop() {
        Callback<void(Result<T>)> orphan;
        {
            const std::lock_guard guard(mutex_);
            wanted_ = false;
            if (result_) orphan = std::move(orphan_);
        }
        if (orphan) orphan(std::move(*result_));
    }

    Wire& wire_;
    Wire::Waiter waiter_;
    std::mutex mutex_;
    bool wanted_ = true;
    std::optional<Result<T>> result_;
    Callback<void(Result<T>)> then_;
    Callback<void(Result<T>)> orphan_;
    std::optional<Wire::Interest> interest_;
};

/// A result that is here or on its way. Exactly one of get() and then() is called, once; a Pending
/// that is dropped unasked counts as unknown effect, and what it answered goes to the store's
/// orphan handler. Belongs to one thread at a time.
template <class T>
class [[nodiscard]] Pending {
public:
    /// It is here.
    Pending(Result<T> result) : content_(std::in_place_index<0>, std::move(result)) {}
    Pending(T value) : Pending(Result<T>(std::move(value))) {}
    Pending(Failure failure) : Pending(Result<T>(std::move(failure))) {}
    /// It is on its way, for at most until `until` if its caller waits.
    explicit Pending(std::shared_ptr<Flight<T>> flight, std::optional<Moment> until = std::nullopt)
        : content_(std::in_place_index<1>, std::move(flight)), until_(until) {}

    Pending(Pending&& other) noexcept
        : content_(std::exchange(other.content_, std::monostate{})), until_(other.until_) {}
    Pending& operator=(Pending&&) = delete;
    ~Pending() {
        if (content_.index() == 1) std::get<1>(content_)->drop();
    }

    /// Waits on the caller's own thread, which does the store's I/O meanwhile. Throws
    /// std::logic_error inside a callback: the thread that it would wait for is its own.
    Result<T> get() && {
        // Before it is taken: what is refused is dropped, and its answer an orphan.
        refuse_inside_callback();
        if (content_.index() == 0) return std::get<0>(take());
        return std::get<1>(take())->wait(until_);
    }

    /// The same, and not beyond `at_latest`.
    Result<T> get(Moment at_latest) && {
        until_ = std::min(until_.value_or(at_latest), at_latest);
        return std::move(*this).get();
    }

    /// The same, and not for much longer when it is stopped meanwhile.
    Result<T> get(const std::stop_token& stop, std::chrono::nanoseconds once_stopped) && {
        refuse_inside_callback();
        if (content_.index() == 0) return std::get<0>(take());
        return std::get<1>(take())->wait(until_, stop, once_stopped);
    }

    /// Whether it is here, and a failure.
    bool failed() const noexcept { return content_.index() == 0 && !std::get<0>(content_).ok(); }

    /// Calls back once: inline when the result is here, else from the wire.
    void then(Callback<void(Result<T>)> callback) && {
        if (content_.index() == 0) {
            const CallbackScope scope;
            callback(std::get<0>(take()));
        } else {
            std::get<1>(take())->then(std::move(callback));
        }
    }

private:
    using Content = std::variant<Result<T>, std::shared_ptr<Flight<T>>, std::monostate>;
    Content take() { return std::exchange(content_, std::monostate{}); }

    Content content_;
    std::optional<Moment> until_;
};

}  // namespace holdfast::inline v0
