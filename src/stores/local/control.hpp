#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stores/local/folder.hpp"
#include "stores/local/registry.hpp"
#include "stores/local/turnstile.hpp"

namespace holdfast::inline v0::local {

/// What all processes of a store share besides its table, as it stands in the file `control`.
/// The first two members keep their places in every future format, and so does last_fence.
struct ControlPage {
    static constexpr std::uint64_t written_by_holdfast = 0x74736166'646c6f68;  // "holdfast"
    /// The format of this page and of what stands in the table. 2: a contender's host, pid and age.
    /// 3: turns without a mutex of the C library, and the serial of a contender's last renewal.
    static constexpr std::uint32_t current_format = 3;

    std::atomic<std::uint64_t> magic;  ///< written last: without it the page is not made yet
    std::uint32_t format;
    std::uint32_t abi;  ///< how the rest and the table are laid out
    char boot_id[40];
    std::uint64_t table_inode;  ///< of the file that belongs to this page; 0: none yet
    std::uint64_t map_size;     ///< of the table, for all processes
    /// The highest fence ever given. Lives here so that it survives a table started afresh.
    std::uint64_t last_fence;
    std::uint64_t time_namespace;  ///< in which the leases are counted
    TurnstilePlate turnstile;
};

/// This boot of the machine.
std::string boot_id();

/// The control page, mapped. Everything in a store happens in turns, one at a time over all
/// processes, which its turnstile gives.
/// Threads: start_afresh() only while nobody else can have the page open (see Pulse); else any.
class Control {
public:
    /// Maps the page of the file, whatever stands in it. `patience` is how long a turn is waited
    /// for. Throws Error: disk full, and as refuse_foreign().
    Control(const Folder& folder, int file, std::chrono::milliseconds patience);
    ~Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    ControlPage& page() noexcept { return *page_; }
    const ControlPage& page() const noexcept { return *page_; }
    bool made() const noexcept { return page_->magic == ControlPage::written_by_holdfast; }
    /// Whether it is laid out as this version knows it.
    bool is_current() const noexcept {
        return made() && page_->format == ControlPage::current_format;
    }
    /// Throws Error when the page is not ours to change, not even while nobody uses it: made by a
    /// newer version or an incompatible program.
    void refuse_foreign() const;
    /// Throws Error: another version of holdfast uses it.
    [[noreturn]] void fail_of_another_version() const;
    /// Makes the page, or makes it anew after a boot or of an older format: all but the highest
    /// fence.
    void start_afresh(std::string_view boot);
    /// From now on this client may take turns. Throws Error.
    void join(const Registrant& self);

    /// One turn of a client that has joined, from construction to destruction: see Turnstile.
    class Turn {
    public:
        explicit Turn(Control& control) : turnstile_(*control.turnstile_) { turnstile_.enter(); }
        ~Turn() { turnstile_.leave(); }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        Turnstile& turnstile_;
    };

private:
    const Folder& folder_;
    const int file_;
    const std::chrono::milliseconds patience_;
    ControlPage* page_ = nullptr;
    std::optional<Turnstile> turnstile_;
};

}  // namespace holdfast::inline v0::local
