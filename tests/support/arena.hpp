#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

namespace holdfast::test {

/// What busy processes guard with a lock, or report while they run. All nought at first.
struct Arena {
    /// One process's own corner.
    struct Corner {
        std::atomic<std::uint64_t> done{0};
        std::atomic<std::uint64_t> errors{0};
        std::array<char, 400> last_error{};  ///< written before `errors` is raised
    };

    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};
    std::atomic<int> ready{0};

    /// Guarded by the lock under test and by nothing else.
    volatile std::uint64_t counter = 0;
    volatile std::uint64_t copy = 0;

    std::atomic<int> inside{0};
    std::atomic<int> peak{0};
    std::atomic<int> meetings{0};  ///< how often somebody met whom the lock should keep out

    /// Of the newest holder, and the highest ever seen.
    std::atomic<std::uint64_t> fence{0};
    std::atomic<std::uint64_t> old_fences{0};  ///< how often a new holder's was not the highest

    std::array<Corner, 8> corners;
};

/// An Arena in a file that all processes map.
class SharedArena {
public:
    explicit SharedArena(const std::filesystem::path& file) {
        const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        void* memory = MAP_FAILED;
        if (descriptor >= 0 && ftruncate(descriptor, sizeof(Arena)) == 0) {
            memory =
                mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        }
        if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), file);
        close(descriptor);
        arena_ = std::launder(static_cast<Arena*>(memory));
    }
    ~SharedArena() { munmap(arena_, sizeof(Arena)); }
    SharedArena(const SharedArena&) = delete;
    SharedArena& operator=(const SharedArena&) = delete;

    Arena& operator*() const { return *arena_; }
    Arena* operator->() const { return arena_; }

private:
    Arena* arena_;
};

}  // namespace holdfast::test
