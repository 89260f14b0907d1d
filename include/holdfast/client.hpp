#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/options.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

namespace holdfast::inline v0 {

namespace core {
class Context;
}

/// A contender, as a listing shows it.
struct ContenderInfo {
    std::string owner;
    /// 0 while it waits, or has not claimed what it was offered; of a foreign one where the store
    /// numbers nobody by itself (Redis); and of all where it gives no fences (memcached).
    std::uint64_t fence = 0;
    std::chrono::milliseconds lease_left{0};  ///< negative: a foreign one's that never ends
    std::uint64_t weight = 0;
    std::uint64_t capacity = 0;
    std::string host = {};  ///< empty: the store does not know
    int pid = 0;            ///< as that host counts; 0: the store does not know
    /// How long it has held or, of a waiter, waited. Unset: the store does not know.
    std::optional<std::chrono::milliseconds> age = std::nullopt;
    /// Contends for a lock that holdfast shares with other libraries, by one of those.
    bool foreign = false;
    /// Has the lock, and is not merely offered it.
    bool held = false;
};

/// A resource and its line, as a listing shows it.
struct ResourceInfo {
    std::string name;
    std::vector<ContenderInfo> holders;
    std::vector<ContenderInfo> waiters;  ///< in line order
};

/// A connection to one store, and the source of locks on it. A shared handle: copies are the same
/// client, and locks and holds keep it alive. After fork() all of them are inert in the child.
/// Threads: all members may be called from any thread.
class HOLDFAST_EXPORT Client {
public:
    /// Each throws Error for a bad name, lease or weight, and for what the store cannot do.
    Mutex mutex(std::string name, LockOptions options = {}) const;
    RecursiveMutex recursive_mutex(std::string name, LockOptions options = {}) const;
    SharedMutex shared_mutex(std::string name, LockOptions options = {}) const;
    Semaphore semaphore(std::string name, std::uint32_t capacity, LockOptions options = {}) const;
    MultiLock multi_lock(std::vector<std::string> names, LockOptions options = {}) const;

    /// Calls `function(hold)`, by std::invoke, while holding `name`. Throws Error with errc::lost
    /// when the hold was lost by the time the function returned: what it did may have met another
    /// holder.
    template <std::invocable<const Hold&> Function>
    decltype(auto) with_lock(std::string name, Function&& function,
                             LockOptions options = {}) const {
        Mutex guard = mutex(std::move(name), std::move(options));
        const Hold hold = guard.acquire();
        if constexpr (std::is_void_v<std::invoke_result_t<Function, const Hold&>>) {
            std::invoke(std::forward<Function>(function), hold);
            throw_if_lost(hold);
        } else {
            decltype(auto) result = std::invoke(std::forward<Function>(function), hold);
            throw_if_lost(hold);
            return result;
        }
    }

    /// All resources that have a contender and whose name starts with `prefix`, sorted by name. In
    /// the layouts of others (?layout=) any key might be a lock: there it must not be empty.
    /// Throws Error when the store cannot be asked.
    std::vector<ResourceInfo> inspect(std::string_view prefix = {}) const;

    /// That resource, if it has a contender. Cheaper than inspect() where that looks through a
    /// whole server. Throws Error when the store cannot be asked.
    std::optional<ResourceInfo> look_at(std::string_view name) const;

    /// Ends the hold of `name` that has this fence, whoever has it, and everybody's who joined it;
    /// waiters are woken at once. Whether there was such a hold: a waiter has no fence, and another
    /// hold is not touched. Its holder learns of it with its next renewal, a third of its lease at
    /// the latest, as Loss::ended, and may work on until then beside the next one: the fence is for
    /// that. May be repeated. Throws Error when the store cannot be asked.
    /// Fence 0 ends the holders without one that there are at this moment, and nobody who came
    /// later: foreign ones, and all where the store gives no fences. Whether and when a foreign one
    /// learns of it depends on its own library.
    bool break_hold(std::string_view name, std::uint64_t fence) const;

    /// The lease of a lock that asks for none: 30 s, or the longest that the store grants.
    std::chrono::milliseconds usual_lease() const;
    /// The same of a shared side, where that is less.
    std::chrono::milliseconds usual_shared_lease() const;

    const std::string& owner() const noexcept;
    /// The store's URL without its password.
    const std::string& store() const noexcept;

private:
    friend Client connect(std::string_view url, ClientOptions options);
    friend class core::Context;
    explicit Client(std::shared_ptr<core::Context> context) noexcept;
    static void throw_if_lost(const Hold& hold);
    std::shared_ptr<core::Context> context_;
};

/// Connects to a store. No URL: the embedded one, for every process of this machine and user.
/// Throws Error: errc::bad_configuration, errc::unreachable.
HOLDFAST_EXPORT Client connect(std::string_view url = {}, ClientOptions options = {});

}  // namespace holdfast::inline v0
