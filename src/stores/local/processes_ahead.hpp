#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "port/contender.hpp"
#include "stores/local/descriptor.hpp"
#include "stores/local/registry.hpp"

namespace holdfast::inline v0::local {

/// How often a client is looked at whose process cannot be watched (of another PID namespace, or
/// outlived by a warden).
inline constexpr std::chrono::milliseconds look_interval{250};

/// The clients of other processes that stand ahead of this client's waiters, and the descriptors
/// that become readable when such a process ends: one a client, however many wait behind it.
/// Threads: all members may be called from any thread.
class ProcessesAhead {
public:
    /// Descriptors are added to `epoll` with the client's id. `control_file` as for has_pulse().
    ProcessesAhead(int epoll, int control_file, const ProcessIdentity& self);
    ~ProcessesAhead();

    /// From now on these are ahead of the waiter, as of that turn of the store; what is known from
    /// a later turn stands. Nothing happens unless `still_wanted()`. Answers those that are dead.
    std::vector<ClientId> follow(const Nonce& waiter, std::uint64_t turn,
                                 std::span<const Registrant> ahead,
                                 const std::function<bool()>& still_wanted);
    void forget(const Nonce& waiter);

    /// Whether a client is dead whose descriptor became readable. If not, it is looked at from now
    /// on.
    bool ended(ClientId client);
    /// From now on it is looked at, and its descriptor tells nothing any more.
    void look_only(ClientId client);
    /// The waiters that a client is ahead of.
    std::vector<Nonce> behind(ClientId client) const;
    /// Forgets a client that was buried.
    void remove(ClientId client);

    /// The clients found dead by looking.
    std::vector<ClientId> look();
    /// Whether somebody has to be looked at.
    bool has_to_look() const;

private:
    struct Seen {
        Registrant registrant;
        Descriptor process;  ///< none: has to be looked at
        std::size_t followers = 0;
    };
    struct Followed {
        std::uint64_t turn = 0;
        std::vector<ClientId> ahead;
    };

    bool is_own(const Registrant& registrant) const {
        return self_.pid_namespace != 0 && registrant.process == self_;
    }
    bool see(const Registrant& registrant);
    void look_only(Seen& seen);
    void let_go(const Followed& followed);
    void drop_idle();
    void drop(std::unordered_map<ClientId, Seen>::iterator seen);
    Descriptor open_process(const Registrant& registrant) const;

    const int epoll_;
    const int control_file_;
    const ProcessIdentity self_;
    mutable std::mutex mutex_;
    std::map<Nonce, Followed> waiters_;
    std::unordered_map<ClientId, Seen> seen_;
    std::size_t idle_ = 0;  ///< kept although nobody waits behind them
};

}  // namespace holdfast::inline v0::local
