#include "stores/local/control.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "stores/local/process.hpp"

namespace holdfast::inline v0::local {

namespace {

constexpr std::size_t page_size = 4096;
static_assert(sizeof(ControlPage) <= page_size);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::int32_t>::is_always_lock_free);

/// A mutex in shared memory is understood by programs of one word size and C library only.
constexpr std::uint32_t this_abi = (sizeof(void*) << 16) | sizeof(pthread_mutex_t)
#ifdef __GLIBC__
                                   | (1U << 24)
#endif
    ;

/// While others get their turns the store is merely busy: how many limits to wait then.
constexpr int busy_rounds = 5;

/// How often a turn that is not free is looked at before the thread sleeps: some microseconds.
constexpr int spins = 200;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

timespec monotonic_after(std::chrono::milliseconds wait) {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    const auto nanoseconds = time.tv_nsec + (wait % std::chrono::seconds{1}).count() * 1'000'000;
    time.tv_sec += wait.count() / 1000 + nanoseconds / 1'000'000'000;
    time.tv_nsec = nanoseconds % 1'000'000'000;
    return time;
}

void make_mutex(pthread_mutex_t& mutex) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/// The thread sanitizer does not see locks that are taken with pthread_mutex_clocklock().
void show_to_sanitizer([[maybe_unused]] pthread_mutex_t& mutex) {
#ifdef __SANITIZE_THREAD__
    __tsan_mutex_pre_lock(&mutex, 0);
    __tsan_mutex_post_lock(&mutex, 0, 0);
#endif
}

// Two clients of one process map the page twice, and ThreadSanitizer takes their mutex for two.
#ifdef __SANITIZE_THREAD__
char turns_of_this_process;
void told_to_sanitizer_taken() {
    __tsan_acquire(&turns_of_this_process);
}
void told_to_sanitizer_given_back() {
    __tsan_release(&turns_of_this_process);
}
#else
void told_to_sanitizer_taken() {}
void told_to_sanitizer_given_back() {}
#endif

/// The thread that has a robust mutex, as the kernel must know it too.
pid_t owner_of([[maybe_unused]] const pthread_mutex_t& mutex) {
#ifdef __GLIBC__
    constexpr int thread_id = 0x3fffffff;  // FUTEX_TID_MASK
    return __atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) & thread_id;
#else
    return 0;
#endif
}

std::string in_seconds(std::chrono::milliseconds time) {
    if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
    return std::to_string(time.count()) + " ms";
}

}  // namespace

std::string boot_id() {
    const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char text[sizeof ControlPage::boot_id] = {};
    const auto length = file ? ::read(file.get(), text, sizeof text - 1) : 0;
    std::string id(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id;
}

Control::Control(const Folder& folder, int file, std::chrono::milliseconds patience)
    : folder_(folder), patience_(patience), pid_(getpid()), pid_namespace_(own_pid_namespace()) {
    struct stat status {};
    if (fstat(file, &status) != 0) folder_.fail_with(errno, "its control page cannot be read");
    if (status.st_size < static_cast<off_t>(page_size)) {
        // Writing to a page that the disk has no room for would end the process by SIGBUS.
        const int error = posix_fallocate(file, 0, page_size);
        if (error != 0) folder_.fail_with(error, "its control page cannot be made");
    }
    void* address = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) folder_.fail_with(errno, "its control page cannot be mapped");
    page_ = static_cast<ControlPage*>(address);
    try {
        refuse_foreign();
    } catch (...) {
        munmap(page_, page_size);
        throw;
    }
}

Control::~Control() {
    munmap(page_, page_size);
}

void Control::refuse_foreign() const {
    if (page_->magic == 0) return;
    if (!made()) {
        folder_.fail(errc::bad_configuration,
                     "its file control was not written by holdfast; name another folder: "
                     "local:///folder");
    }
    if (page_->format > ControlPage::current_format) fail_of_another_version();
    if (page_->abi != this_abi) {
        folder_.fail(errc::bad_configuration,
                     "is used by programs of another word size or C library, which cannot share "
                     "memory with this one; name another folder: local:///folder");
    }
}

void Control::fail_of_another_version() const {
    const bool newer = page_->format > ControlPage::current_format;
    folder_.fail(errc::bad_configuration,
                 std::string(newer ? "was made by a newer" : "is used by an older") +
                     " version of holdfast (format " + std::to_string(page_->format) +
                     ", this one knows " + std::to_string(ControlPage::current_format) +
                     "); use one version, or name another folder: local:///folder");
}

void Control::start_afresh(std::string_view boot) {
    // Whoever dies from here on leaves a page that is not made yet, but for the fence.
    page_->magic = 0;
    page_->format = ControlPage::current_format;
    page_->abi = this_abi;
    std::memset(page_->boot_id, 0, sizeof page_->boot_id);
    std::memcpy(page_->boot_id, boot.data(), std::min(boot.size(), sizeof page_->boot_id - 1));
    page_->table_inode = 0;
    page_->map_size = 0;
    page_->turns = 0;
    page_->owner_pid = 0;
    make_mutex(page_->mutex);
    page_->magic = ControlPage::written_by_holdfast;
}

void Control::take() {
    // Tried first: only a wait needs the clock.
    int error = pthread_mutex_trylock(&page_->mutex);
    if (error == EBUSY) error = spin_for_turn();
    if (error == EBUSY) error = wait_for_turn();
    if (error == EOWNERDEAD) {
        // Its transaction was never committed, so there is nothing to repair.
        error = pthread_mutex_consistent(&page_->mutex);
    }
    if (error != 0) {
        folder_.fail(errc::unreachable, std::string("its lock is unusable (") +
                                            std::strerror(error) + "); end all its users");
    }
    page_->owner_pid.store(pid_, std::memory_order_relaxed);
    page_->owner_pid_namespace.store(pid_namespace_, std::memory_order_relaxed);
    // Nobody else writes it meanwhile: no need for a locked addition.
    const std::uint64_t turns = page_->turns.load(std::memory_order_relaxed);
    page_->turns.store(turns + 1, std::memory_order_relaxed);
    told_to_sanitizer_taken();
}

void Control::give_back() noexcept {
    told_to_sanitizer_given_back();
    page_->owner_pid.store(0, std::memory_order_relaxed);
    pthread_mutex_unlock(&page_->mutex);
}

/// A turn takes about a microsecond, falling asleep and being woken ten times as long.
int Control::spin_for_turn() {
    for (int i = 0; i < spins; ++i) {
        if (page_->owner_pid.load(std::memory_order_relaxed) == 0) {
            const int error = pthread_mutex_trylock(&page_->mutex);
            if (error != EBUSY) return error;
        }
        relax();
    }
    return EBUSY;
}

int Control::wait_for_turn() {
    for (int round = 0; round < busy_rounds; ++round) {
        const std::uint64_t before = page_->turns.load(std::memory_order_relaxed);
        const timespec limit = monotonic_after(patience_);
        const int error = pthread_mutex_clocklock(&page_->mutex, CLOCK_MONOTONIC, &limit);
        if (error == 0 || error == EOWNERDEAD) show_to_sanitizer(page_->mutex);
        if (error != ETIMEDOUT) return error;
        if (page_->turns.load(std::memory_order_relaxed) == before) break;
    }
    fail_stuck();
}

void Control::fail_stuck() const {
    pid_t pid = page_->owner_pid.load(std::memory_order_relaxed);
    // It may have been stopped before it could write that down, or after it had wiped it out.
    if (pid == 0) pid = process_of_thread(owner_of(page_->mutex));
    const std::string who = pid == 0 ? "a process" : "process " + std::to_string(pid);
    const bool elsewhere = pid != 0 && page_->owner_pid_namespace != pid_namespace_;
    folder_.fail(errc::unreachable, who + (elsewhere ? " (of another PID namespace)" : "") +
                                        " has held the store's lock for more than " +
                                        in_seconds(patience_) + " (stopped?); continue or end it");
}

}  // namespace holdfast::inline v0::local
