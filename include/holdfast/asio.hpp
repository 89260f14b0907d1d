#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/strand.hpp>
#include <asio/system_context.hpp>

#include <holdfast/hold.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/wait.hpp>

/// Locks for programs on asio, with any completion token: a callback, asio::use_future,
/// asio::use_awaitable, deferred and so on. Not in holdfast.hpp; the one header that needs more
/// than the standard library.
///
///     holdfast::Hold hold = co_await holdfast::async_acquire(orders, asio::use_awaitable);
///     co_await work(hold.fence());
///     co_await holdfast::async_release(std::move(hold), asio::use_awaitable);
///
/// Nothing here blocks, also not the destructor of a hold that was acquired so: it is given back in
/// the background, before what is asked for its resource afterwards.
///
/// The handler is called on its associated executor, which has work until then, and never inside
/// the initiating function; a handler without an executor is called on the client's callback
/// thread. A failure comes as the std::exception_ptr of an Error: a coroutine throws it, and
/// as_tuple does not. A wait ends when it is cancelled (all kinds of cancellation do so): one
/// without a limit by an Error with errc::cancelled, one with a limit by an empty Attempt. An
/// admission that was on its way is reported all the same.
///
/// A lock must live until its operation is initiated (with use_awaitable and deferred that is when
/// it is awaited), and need not after that. When an io_context is destroyed, handlers that were not
/// called never are; what they would have got is given back.
namespace holdfast::inline v0 {

namespace completion {

/// A handler and what it is called with, as a function that asio can send.
template <class Handler, class... Results>
class Delivery {
public:
    using allocator_type = asio::associated_allocator_t<Handler>;

    Delivery(Handler handler, Results... results)
        : handler_(std::move(handler)), results_(std::move(results)...) {}

    allocator_type get_allocator() const noexcept {
        return asio::get_associated_allocator(handler_);
    }

    void operator()() {
        // Here, where whoever cancels is too: a slot is not for several threads.
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected()) {
            slot.clear();
        }
        std::apply([this](Results&... results) { std::move(handler_)(std::move(results)...); },
                   results_);
    }

private:
    Handler handler_;
    std::tuple<Results...> results_;
};

/// What is to be told to handlers of one execution context. When that ends, they are destroyed and
/// never called, as asio does with those of its own operations.
class Outstanding : public asio::execution_context::service {
public:
    using key_type = Outstanding;
    static inline asio::execution_context::id id;

    /// One of them.
    class Operation : public std::enable_shared_from_this<Operation> {
    public:
        virtual ~Operation() = default;
        virtual void abandon() = 0;
    };

    /// Outlives the context: whoever completes an operation asks here whether that is still there.
    class List {
    public:
        void add(const std::shared_ptr<Operation>& operation) {
            const std::lock_guard guard(mutex_);
            operations_.emplace(operation.get(), operation);
        }
        void forget(Operation& operation) {
            const std::lock_guard guard(mutex_);
            operations_.erase(&operation);
        }
        /// Calls `send()`, once, unless the context has ended; that waits for it.
        template <class Send>
        void complete(Operation& operation, Send send) {
            const std::lock_guard guard(mutex_);
            if (operations_.erase(&operation) > 0) send();
        }
        std::vector<std::shared_ptr<Operation>> close() {
            const std::lock_guard guard(mutex_);
            std::vector<std::shared_ptr<Operation>> all_of_them;
            for (const auto& [address, operation] : operations_) {
                if (auto alive = operation.lock()) all_of_them.push_back(std::move(alive));
            }
            operations_.clear();
            return all_of_them;
        }

    private:
        std::mutex mutex_;
        std::unordered_map<Operation*, std::weak_ptr<Operation>> operations_;
    };

    explicit Outstanding(asio::execution_context& context) : service(context) {}
    const std::shared_ptr<List>& list() const noexcept { return list_; }

private:
    void shutdown() override {
        for (const auto& operation : list_->close()) operation->abandon();
    }

    std::shared_ptr<List> list_ = std::make_shared<List>();
};

/// The class of the context that an executor names; void when it has none.
template <class Executor>
struct ContextOf {
    using Type = void;
};
template <class Executor>
    requires(asio::can_query<const Executor&, asio::execution::context_t>::value)
struct ContextOf<Executor> {
    using Type = std::remove_cvref_t<decltype(asio::query(std::declval<const Executor&>(),
                                                          asio::execution::context))>;
};

/// Whether its context may end before the program does. That of the system may not, and must not be
/// asked for: it is made then, with threads. Whoever hides its context's class (use_future) has
/// that one, but for asio's own wrapper.
template <class Executor>
inline constexpr bool has_context_that_ends =
    std::is_same_v<Executor, asio::any_io_executor> ||
    !(std::is_void_v<typename ContextOf<Executor>::Type> ||
      std::is_same_v<typename ContextOf<Executor>::Type, asio::system_context> ||
      std::is_same_v<typename ContextOf<Executor>::Type, asio::execution_context>);

/// The list of the context in which this executor runs what it is given; null when that has none.
template <class Executor>
std::shared_ptr<Outstanding::List> list_of(const Executor& executor) {
    if constexpr (has_context_that_ends<Executor>) {
        asio::execution_context& context = asio::query(executor, asio::execution::context);
        return asio::use_service<Outstanding>(context).list();
    } else {
        return nullptr;
    }
}
template <class Inner>
std::shared_ptr<Outstanding::List> list_of(const asio::strand<Inner>& strand) {
    return list_of(strand.get_inner_executor());
}

/// A handler on its way, and the work that its executor has until then.
template <class Handler>
class Completion final : public Outstanding::Operation {
public:
    static std::shared_ptr<Completion> of(Handler handler) {
        const auto made = std::make_shared<Completion>(std::move(handler));
        if (made->list_) made->list_->add(made);
        return made;
    }
    explicit Completion(Handler handler)
        : work_(asio::get_associated_executor(handler)),
          handler_(std::move(handler)),
          list_(list_of(work_->get_executor())) {
        if (auto slot = asio::get_associated_cancellation_slot(*handler_); slot.is_connected()) {
            slot.assign([stop = stop_](asio::cancellation_type kind) mutable {
                if (kind != asio::cancellation_type::none) stop.request_stop();
            });
        }
    }
    ~Completion() override {
        if (list_) list_->forget(*this);
    }

    /// Stopped when the operation is cancelled, or nobody is left who could be told of its end.
    std::stop_token stop_token() const { return stop_.get_token(); }

    /// On a thread of the client.
    template <class... Results>
    void complete(Results... results) {
        if (!list_) return asio::dispatch(executor(), delivery(std::move(results)...));
        list_->complete(*this, [&] {
            asio::post(executor(), delivery(std::move(results)...));
            // The context may end as soon as it has the handler, and is not to be touched then.
            work_.reset();
        });
    }
    /// In the initiating function, which does not call handlers.
    template <class... Results>
    void complete_at_once(Results... results) {
        asio::post(executor(), delivery(std::move(results)...));
    }

private:
    auto executor() const { return work_->get_executor(); }

    template <class... Results>
    Delivery<Handler, Results...> delivery(Results... results) {
        return {*std::exchange(handler_, std::nullopt), std::move(results)...};
    }
    void abandon() override {
        handler_.reset();
        work_.reset();
        stop_.request_stop();
    }

    std::optional<asio::executor_work_guard<asio::associated_executor_t<Handler>>> work_;
    std::optional<Handler> handler_;
    std::stop_source stop_;
    const std::shared_ptr<Outstanding::List> list_;
};

/// What an acquisition without a limit gives is a hold, if it gives no failure.
template <class Result>
Result taken(Attempt attempt) {
    if constexpr (std::is_same_v<Result, Hold>) {
        return attempt ? *std::move(attempt) : Hold();
    } else {
        return attempt;
    }
}

/// `start(on_acquired, stop_token)` begins the acquisition, or throws why it cannot.
template <class Result, class Start, class Token>
auto acquire(Start start, Token&& token) {
    return asio::async_initiate<Token, void(std::exception_ptr, Result)>(
        [start = std::move(start)](auto handler) {
            using Whole = Completion<decltype(handler)>;
            const auto whole = Whole::of(std::move(handler));
            const auto end = [whole](std::exception_ptr failure, Attempt attempt) {
                whole->complete(std::move(failure), taken<Result>(std::move(attempt)));
            };
            try {
                start(end, whole->stop_token());
            } catch (...) {
                whole->complete_at_once(std::current_exception(), Result());
            }
        },
        token);
}

}  // namespace completion

/// What is acquired exclusively, and as a whole.
template <class T>
concept Exclusive =
    std::same_as<T, Mutex> || std::same_as<T, SharedMutex> || std::same_as<T, MultiLock>;

/// void(std::exception_ptr, Hold)
template <Exclusive Lock, class Token>
auto async_acquire(Lock& lock, Token&& token) {
    return completion::acquire<Hold>(
        [&lock](OnAcquired done, std::stop_token stop) {
            lock.async_acquire(std::move(done), std::move(stop));
        },
        std::forward<Token>(token));
}
template <class Token>
auto async_acquire(Semaphore& semaphore, std::uint32_t permits, Token&& token) {
    return completion::acquire<Hold>(
        [&semaphore, permits](OnAcquired done, std::stop_token stop) {
            semaphore.async_acquire(std::move(done), permits, std::move(stop));
        },
        std::forward<Token>(token));
}
template <class Token>
auto async_acquire(Semaphore& semaphore, Token&& token) {
    return async_acquire(semaphore, 1, std::forward<Token>(token));
}
template <class Token>
auto async_acquire_shared(SharedMutex& lock, Token&& token) {
    return completion::acquire<Hold>(
        [&lock](OnAcquired done, std::stop_token stop) {
            lock.async_acquire_shared(std::move(done), std::move(stop));
        },
        std::forward<Token>(token));
}

/// void(std::exception_ptr, Attempt): empty when busy for that long, or cancelled.
template <Exclusive Lock, class Token>
auto async_try_acquire_for(Lock& lock, Wait patience, Token&& token) {
    return completion::acquire<Attempt>(
        [&lock, patience](OnAcquired done, std::stop_token stop) {
            lock.async_try_acquire_for(patience, std::move(done), std::move(stop));
        },
        std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_for(Semaphore& semaphore, Wait patience, std::uint32_t permits,
                           Token&& token) {
    return completion::acquire<Attempt>(
        [&semaphore, patience, permits](OnAcquired done, std::stop_token stop) {
            semaphore.async_try_acquire_for(patience, std::move(done), permits, std::move(stop));
        },
        std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_for(Semaphore& semaphore, Wait patience, Token&& token) {
    return async_try_acquire_for(semaphore, patience, 1, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_shared_for(SharedMutex& lock, Wait patience, Token&& token) {
    return completion::acquire<Attempt>(
        [&lock, patience](OnAcquired done, std::stop_token stop) {
            lock.async_try_acquire_shared_for(patience, std::move(done), std::move(stop));
        },
        std::forward<Token>(token));
}

/// void(Released): any hold, however it was acquired. It is on its way when this returns, and
/// cannot be cancelled.
template <class Token>
auto async_release(Hold hold, Token&& token) {
    return asio::async_initiate<Token, void(Released)>(
        [](auto handler, Hold leaving) {
            using Whole = completion::Completion<decltype(handler)>;
            const auto whole = Whole::of(std::move(handler));
            // One that holds nothing has no client whose thread could call back.
            if (leaving.name().empty()) return whole->complete_at_once(Released::unknown);
            leaving.async_release([whole](Released how) { whole->complete(how); });
        },
        token, std::move(hold));
}

}  // namespace holdfast::inline v0
