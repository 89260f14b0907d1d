#include "stores/local/turnstile.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <ctime>
#include <string>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "stores/local/pulse.hpp"

namespace holdfast::inline v0::local {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::int32_t>::is_always_lock_free);

constexpr std::uint64_t awaited_bit = 1;

/// While others get their turns the store is merely busy: how many limits to wait then.
constexpr int busy_rounds = 5;

/// How often a turn that is not free is looked at before the thread sleeps: some microseconds.
constexpr int spins = 200;

/// Between two looks at whether the one inside is dead. Nobody wakes those who wait for it then.
constexpr auto first_sleep = 1ms;
constexpr auto longest_sleep = 32ms;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The half of the word that the kernel looks at: that of the bit and of the id's low end.
std::uint32_t* futex_of(std::atomic<std::uint64_t>& word) {
    constexpr std::size_t low = std::endian::native == std::endian::little ? 0 : 1;
    return reinterpret_cast<std::uint32_t*>(&word) + low;
}

void sleep_while(std::atomic<std::uint64_t>& word, std::uint64_t value,
                 std::chrono::milliseconds longest) {
    const timespec limit{.tv_sec = longest.count() / 1000,
                         .tv_nsec = longest.count() % 1000 * 1'000'000};
    syscall(SYS_futex, futex_of(word), FUTEX_WAIT, static_cast<std::uint32_t>(value), &limit,
            nullptr, 0);
}

void wake_one(std::atomic<std::uint64_t>& word) {
    syscall(SYS_futex, futex_of(word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// Two clients of one process map the page twice, and ThreadSanitizer takes their word for two.
#ifdef __SANITIZE_THREAD__
char turns_of_this_process;
void told_to_sanitizer_entered() {
    __tsan_acquire(&turns_of_this_process);
}
void told_to_sanitizer_left() {
    __tsan_release(&turns_of_this_process);
}
#else
void told_to_sanitizer_entered() {}
void told_to_sanitizer_left() {}
#endif

std::string in_seconds(std::chrono::milliseconds time) {
    if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
    return std::to_string(time.count()) + " ms";
}

}  // namespace

Turnstile::Turnstile(TurnstilePlate& plate, const Folder& folder, int control_file,
                     const Registrant& self, std::chrono::milliseconds patience)
    : plate_(plate),
      folder_(folder),
      control_file_(control_file),
      self_(self),
      patience_(patience) {
    take_badge(folder, control_file, self.id);
}

bool Turnstile::awaited(const TurnstilePlate& plate) noexcept {
    return (plate.inside & awaited_bit) != 0;
}

void Turnstile::enter() {
    // Tried first: only a wait needs the clock.
    if (!enter_free() && !spin()) wait();
    // Nobody else writes it meanwhile: no need for a locked addition.
    const std::uint64_t turns = plate_.turns.load(std::memory_order_relaxed);
    plate_.turns.store(turns + 1, std::memory_order_relaxed);
    if (plate_.client.load(std::memory_order_relaxed) != self_.id) sign();
    told_to_sanitizer_entered();
}

/// After the turn was counted: who reads this and sees the count unchanged has read it whole.
void Turnstile::sign() noexcept {
    plate_.client.store(0, std::memory_order_release);
    plate_.pid.store(self_.process.pid, std::memory_order_release);
    plate_.start_time.store(self_.process.start_time, std::memory_order_release);
    plate_.pid_namespace.store(self_.process.pid_namespace, std::memory_order_release);
    plate_.client.store(self_.id, std::memory_order_release);
}

void Turnstile::leave() noexcept {
    told_to_sanitizer_left();
    std::uint64_t mine = self_.id * 2;
    if (plate_.inside.compare_exchange_strong(mine, 0, std::memory_order_release)) return;
    mine = self_.id * 2 + awaited_bit;
    if (plate_.inside.compare_exchange_strong(mine, 0, std::memory_order_release)) {
        wake_one(plate_.inside);
    }
}

bool Turnstile::enter_free() noexcept {
    std::uint64_t nobody = 0;
    return plate_.inside.compare_exchange_strong(nobody, self_.id * 2, std::memory_order_acquire,
                                                 std::memory_order_relaxed);
}

/// A turn takes about a microsecond, falling asleep and being woken ten times as long.
bool Turnstile::spin() {
    for (int i = 0; i < spins; ++i) {
        if (plate_.inside.load(std::memory_order_relaxed) == 0 && enter_free()) return true;
        relax();
    }
    return false;
}

void Turnstile::wait() {
    auto sleep = std::chrono::milliseconds(first_sleep);
    for (int round = 0; round < busy_rounds; ++round) {
        const std::uint64_t before = plate_.turns;
        const auto limit = Clock::now() + patience_;
        while (Clock::now() < limit) {
            if (enter_or_sleep(std::min(sleep, patience_))) return;
            sleep = std::min<std::chrono::milliseconds>(sleep * 2, longest_sleep);
        }
        if (plate_.turns == before) break;
    }
    fail_stuck();
}

/// Whoever comes in here says that others may sleep: it does not know better.
bool Turnstile::enter_or_sleep(std::chrono::milliseconds longest) {
    const std::uint64_t mine = self_.id * 2 + awaited_bit;
    const std::uint64_t turns = plate_.turns;
    std::uint64_t inside = plate_.inside;
    if (inside == 0) return plate_.inside.compare_exchange_strong(inside, mine);
    const std::uint64_t awaited = inside | awaited_bit;
    if (inside != awaited && !plate_.inside.compare_exchange_strong(inside, awaited)) return false;
    sleep_while(plate_.inside, awaited, longest);
    // A client that is dead stays dead, and its id is nobody else's: whoever finds it still inside
    // takes its place. Its transaction was never committed, so there is nothing to repair.
    inside = awaited;
    return plate_.inside == inside && is_dead(inside / 2, turns) &&
           plate_.inside.compare_exchange_strong(inside, mine);
}

bool Turnstile::is_dead(std::uint64_t client, std::uint64_t turns) const {
    if (client == self_.id) return false;
    if (!has_badge(control_file_, client)) return true;
    // A stray copy of the badge, in a child that was not made by fork().
    const ProcessIdentity process{
        .pid = plate_.pid, .start_time = plate_.start_time, .pid_namespace = plate_.pid_namespace};
    return plate_.client == client && plate_.turns == turns &&
           has_ended(process, self_.process.pid_namespace);
}

void Turnstile::fail_stuck() const {
    const std::string too_long =
        " has held the store's lock for more than " + in_seconds(patience_) + " (stopped?); ";
    if (plate_.client != plate_.inside / 2) {
        // It stands still between coming in and signing.
        folder_.fail(errc::unreachable, "a process" + too_long + "find it with fuser " +
                                            folder_.path() + "/control and continue or end it");
    }
    const bool elsewhere = plate_.pid_namespace != self_.process.pid_namespace;
    folder_.fail(errc::unreachable, "process " + std::to_string(plate_.pid) +
                                        (elsewhere ? " (of another PID namespace)" : "") +
                                        too_long + "continue or end it");
}

}  // namespace holdfast::inline v0::local
