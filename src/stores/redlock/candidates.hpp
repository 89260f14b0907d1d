#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <holdfast/callback.hpp>

#include "port/clock.hpp"
#include "port/contender.hpp"
#include "port/failure.hpp"
#include "stores/redlock/candidacy.hpp"

namespace holdfast::inline v0::redlock {

/// One of this client that contends. The nodes know of it only while it tries,
/// or holds; its ticket has the nonce of its first try.
struct Candidate {
    using Told = Callback<void(Result<Standing>)>;

    std::shared_ptr<const Profile> profile;
    Nonce nonce;
    std::chrono::milliseconds lease{0};
    std::shared_ptr<Candidacy> last_try = nullptr;
    std::uint64_t fence = 0;       ///< nought: it does not hold
    std::vector<Told> asked = {};  ///< for how the try ends that is under way
    bool tries = false;
    bool has_left = false;      ///< nothing is begun any more
    bool is_left_over = false;  ///< it has left, and too few nodes have said so
    bool has_reason = false;    ///< to try again: it was called, or its time has come
    unsigned contested = 0;     ///< how many tries in a row rivals have divided the nodes
    Moment heard{};             ///< what the last answered try counts from

    bool holds() const noexcept { return fence != 0; }
};

/// Those of one client. Threads: all members may be called from any thread.
class Candidates {
public:
    using Lock = std::unique_lock<std::mutex>;

    explicit Candidates(std::chrono::milliseconds max_lease)
        : kept_for_(2 * max_lease + std::chrono::minutes{1}) {}

    /// Locks all of them.
    Lock lock() const { return Lock(mutex_); }

    /// Another one, or that with this nonce.
    std::shared_ptr<Candidate> add(std::shared_ptr<const Profile> profile, const Nonce& nonce,
                                   std::chrono::milliseconds lease) {
        const Lock lock(mutex_);
        auto& found = all_[nonce];
        if (!found)
            found = std::make_shared<Candidate>(Candidate{std::move(profile), nonce, lease});
        return found;
    }
    std::shared_ptr<Candidate> find(const Nonce& nonce) const {
        const Lock lock(mutex_);
        const auto found = all_.find(nonce);
        return found == all_.end() ? nullptr : found->second;
    }
    void forget(const Nonce& nonce) {
        const Lock lock(mutex_);
        all_.erase(nonce);
    }

    /// Too few nodes have said that it has left. Whoever asked for that may ask
    /// again.
    void is_left_over(const Nonce& nonce, Moment now) {
        const Lock lock(mutex_);
        const auto found = all_.find(nonce);
        if (found == all_.end() || std::exchange(found->second->is_left_over, true)) return;
        left_over_.emplace_back(now, nonce);
    }
    /// Forgets those for whom nobody asks any more, a few at a time, and tells
    /// who they were.
    std::vector<Nonce> forget_left_over(Moment now) {
        const Lock lock(mutex_);
        std::vector<Nonce> those;
        while (!left_over_.empty() && left_over_.front().first + kept_for_ < now &&
               those.size() < most_at_once) {
            those.push_back(left_over_.front().second);
            all_.erase(those.back());
            left_over_.pop_front();
        }
        return those;
    }

private:
    static constexpr std::size_t most_at_once = 100;

    /// Whoever wants one taken out goes on for two leases, and some seconds.
    const std::chrono::nanoseconds kept_for_;
    mutable std::mutex mutex_;
    std::map<Nonce, std::shared_ptr<Candidate>> all_;
    std::deque<std::pair<Moment, Nonce>> left_over_;
};

}  // namespace holdfast::inline v0::redlock
