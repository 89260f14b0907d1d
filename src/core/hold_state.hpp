#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <holdfast/hold.hpp>

#include "core/context.hpp"
#include "core/keeper.hpp"

namespace holdfast::inline v0::core {

/// What stands behind a Hold: one or several admitted contenders that stand and fall together.
/// Nobody but the contest knows it before they are.
class HoldState final : public KeptListener, public std::enable_shared_from_this<HoldState> {
public:
    HoldState(std::shared_ptr<Context> context, std::string name);

    /// Makes the hold of what was admitted: from now on it hears of them.
    void admit(std::vector<std::shared_ptr<Kept>> kept, std::vector<std::uint64_t> fences);

    static Hold hold(std::shared_ptr<HoldState> state) noexcept { return Hold(std::move(state)); }

    const std::vector<std::uint64_t>& fences() const noexcept { return fences_; }
    const std::string& name() const noexcept { return name_; }
    bool held() const noexcept { return remaining() > std::chrono::nanoseconds::zero(); }
    std::chrono::nanoseconds remaining() const noexcept;
    std::stop_token lost() const noexcept;
    /// What tells of a loss where there is no hold: stopped.
    static std::stop_token nothing_held() noexcept;
    Loss loss() const noexcept;
    bool lengthen(std::chrono::milliseconds lease) noexcept;
    Released release() noexcept;
    /// Sends the leave and waits for nothing. `done` is called on the telling thread.
    void release_unwaited(OnReleased done) noexcept;
    /// As its destructor does.
    void let_go() noexcept;
    /// It was acquired without waiting, so whoever has it is not made to wait for its end either.
    void let_nobody_wait() noexcept { waits_ = false; }
    bool inherited() const noexcept { return context_->inherited(); }

    void renewed(const Kept& kept, const Standing& standing) override;
    void overdue(const Kept& kept) override;

private:
    /// On its way with the leave, until that is answered. Whoever wants to hear of it then has this
    /// keep the hold, and so the client.
    struct Stay {
        std::shared_ptr<HoldState> whose;
    };

    Moment valid_until() const noexcept;
    void lose(Loss why);
    void tell_renewed();
    Released give_back() noexcept;
    /// Until whoever gives it back has done so.
    void await_leave(std::unique_lock<std::mutex>& lock) noexcept;
    void note_leave_sent(std::unique_lock<std::mutex>& lock) noexcept;
    std::vector<Ticket> stop_keeping() noexcept;
    std::chrono::milliseconds lease() const noexcept { return kept_.front()->lease(); }
    void left(Released how);
    void tell(std::vector<OnReleased> whom, Released how) noexcept;

    const std::shared_ptr<Context> context_;
    const std::string name_;
    std::vector<std::shared_ptr<Kept>> kept_;
    std::vector<std::uint64_t> fences_;
    std::atomic<Loss> loss_{Loss::none};
    std::stop_source lost_;
    bool waits_ = true;
    std::mutex release_mutex_;
    std::condition_variable leave_is_sent_;
    enum class Leave : std::uint8_t {
        not_yet,
        being_sent,        ///< by one who waits for nothing: it is done in a moment
        being_waited_for,  ///< by one who waits for the answer
        sent
    } leave_ = Leave::not_yet;
    std::optional<Released> released_;
    std::vector<OnReleased> to_be_told_;
    std::weak_ptr<Stay> stay_;  ///< once it was sent without waiting
    std::atomic<bool> over_{false};
};

}  // namespace holdfast::inline v0::core
