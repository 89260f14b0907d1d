#pragma once

#include <pthread.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "stores/local/folder.hpp"

namespace holdfast::inline v0::local {

/// What all processes of a store share besides its table, as it stands in the file `control`.
/// The first two members keep their places in every future format, and so does last_fence.
struct ControlPage {
    static constexpr std::uint64_t written_by_holdfast = 0x74736166'646c6f68;  // "holdfast"
    /// Of this page and of what stands in the table. 2: a contender's host, pid and age.
    static constexpr std::uint32_t current_format = 2;

    std::atomic<std::uint64_t> magic;  ///< written last: without it the page is not made yet
    std::uint32_t format;
    std::uint32_t abi;  ///< how the mutex is laid out
    char boot_id[40];
    std::uint64_t table_inode;  ///< of the file that belongs to this page; 0: none yet
    std::uint64_t map_size;     ///< of the table, for all processes
    /// The highest fence ever given. Lives here so that it survives a table started afresh.
    std::uint64_t last_fence;
    std::atomic<std::uint64_t> turns;  ///< taken so far
    std::atomic<std::uint64_t> owner_pid_namespace;
    std::atomic<std::int32_t> owner_pid;  ///< who has the turn; 0: nobody
    pthread_mutex_t mutex;
};

/// This boot of the machine.
std::string boot_id();

/// The control page, mapped. Everything in a store happens in turns, one at a time over all
/// processes: a robust mutex, because a process can be killed in its turn, and taken with a time
/// limit, because it can be stopped in it.
/// Threads: start_afresh() only while nobody else can have the page open (see Seat); else any.
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

    /// One turn, from construction to destruction. Makes no system call when nobody else has it.
    /// Throws Error(errc::unreachable) naming the process that has had it for too long.
    class Turn {
    public:
        explicit Turn(Control& control) : control_(control) { control.take(); }
        ~Turn() { control_.give_back(); }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        Control& control_;
    };

private:
    void take();
    void give_back() noexcept;
    int spin_for_turn();
    int wait_for_turn();
    [[noreturn]] void fail_stuck() const;

    const Folder& folder_;
    std::chrono::milliseconds patience_;
    std::int32_t pid_;
    std::uint64_t pid_namespace_;
    ControlPage* page_ = nullptr;
};

}  // namespace holdfast::inline v0::local
