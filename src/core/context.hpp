#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/hold.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/options.hpp>

#include "core/alarm.hpp"
#include "core/departing.hpp"
#include "core/keeper.hpp"
#include "port/fork.hpp"
#include "port/store.hpp"

namespace holdfast::inline v0 {
class Client;
}

namespace holdfast::inline v0::core {

/// What all locks of one client share. Kept alive by them, by holds and by acquisitions under way;
/// with the last of these its threads end. Clean-ups in the background do not keep it.
/// Threads: all members may be called from any thread.
class Context : public std::enable_shared_from_this<Context> {
public:
    struct Parts {
        std::shared_ptr<Store> store;
        std::shared_ptr<const Clock> clock;
        std::unique_ptr<Alarm> renewing;
        std::unique_ptr<Alarm> telling;
        std::string prefix = {};
        std::string url = {};
        ClientOptions options = {};
        /// How long a client that is closed waits for its clean-ups.
        std::chrono::milliseconds goodbye{500};
    };
    static std::shared_ptr<Context> make(Parts parts);
    static Client client(std::shared_ptr<Context> context);
    /// What stands behind one.
    static const std::shared_ptr<Context>& of(const Client& client) noexcept;
    ~Context();

    Store& store() const noexcept { return *parts_.store; }
    const Clock& clock() const noexcept { return *parts_.clock; }
    /// Does the work that must not wait for a user: renewals, clean-ups, time limits.
    Alarm& renewing() const noexcept { return *parts_.renewing; }
    /// Runs the user's callbacks.
    Alarm& telling() const noexcept { return *parts_.telling; }
    Keeper& keeper() const noexcept { return *keeper_; }

    const std::string& prefix() const noexcept { return parts_.prefix; }
    const std::string& url() const noexcept { return parts_.url; }
    const std::string& owner() const noexcept { return parts_.options.owner; }
    /// Where its contenders come from, as listings show it.
    const std::string& host() const noexcept { return host_; }
    int pid() const noexcept { return pid_; }
    /// Null when nobody observes.
    Observer* observer() const noexcept { return parts_.options.observer.get(); }
    /// The name that the user gave, from the resource in the store.
    std::string_view name_of(std::string_view resource) const;

    Nonce next_nonce() noexcept;
    /// Whether this is a forked child's copy: then nothing of it may be touched.
    bool inherited() const noexcept { return mark_.inherited(); }
    void refuse_inherited(std::string_view name) const;

    /// Has the threads that a hold needs, or throws Error.
    void make_ready();

    /// Takes contenders out of line, all at once, and waits for the answers until then at most,
    /// or not at all where that must not be. What was not answered is taken out in the background.
    Released give_back(std::span<const Ticket> tickets, std::chrono::milliseconds lease,
                       Moment until);
    /// How a release went of which nobody waits for the answer. Called wherever that comes in: must
    /// be quick. Never called when the client ends before.
    using OnGone = Callback<void(Released)>;
    /// The same without waiting, and in order with what is asked for these names afterwards.
    void send_off(std::span<const Ticket> tickets, std::chrono::milliseconds lease,
                  OnGone told = {});
    /// Takes a contender out of line in the background, again and again until the store has
    /// answered or nothing of it can be left. The first answer is told.
    void take_out(const Ticket& ticket, std::chrono::milliseconds lease, OnGone told = {});
    /// Where what was sent off may be passed by what is asked for next: those of these names.
    /// Calls back, or returns, once it is answered; at once where nothing is on its way. Whoever
    /// waits does so for the time that is left, until it is stopped, and never for long.
    void after_departures(std::span<const Contender> contenders, Callback<void()> go);
    void await_departures(std::span<const Contender> contenders,
                          std::optional<std::chrono::nanoseconds> left,
                          const std::stop_token& stop);
    /// Whether none is left that takes contenders out in the background.
    bool await_clean_ups(std::chrono::milliseconds at_most);
    /// Asks the threads to end, and does not wait.
    void end() noexcept;

private:
    /// A contender that is taken out in the background.
    struct CleanUp;

    explicit Context(Parts parts);
    static void close(const std::shared_ptr<Context>& context) noexcept;
    void try_take_out(const std::shared_ptr<CleanUp>& clean_up);
    void report(const Failure& failure);
    void report_answer();
    class Leaving;
    OnGone told_in_order(const Ticket& ticket, OnGone told);

    Parts parts_;
    std::string host_;
    int pid_ = 0;
    ForkMark mark_;
    Nonce nonce_base_;
    std::atomic<std::uint64_t> nonces_{0};
    std::atomic<bool> ready_{false};
    std::mutex clean_ups_mutex_;
    std::condition_variable no_clean_ups_;
    std::size_t clean_ups_ = 0;
    Departing departing_;
    std::shared_ptr<Keeper> keeper_;
};

/// Whether somebody's news, or somebody's renewal, waits for this thread to go on: inside a
/// callback of a store, and wherever a user's callback runs on a thread of ours.
bool must_not_wait() noexcept;

/// `resource: what the store said`.
[[noreturn]] void throw_failure(std::string_view name, const Failure& failure);

}  // namespace holdfast::inline v0::core
