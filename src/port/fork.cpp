#include "port/fork.hpp"

#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace holdfast::inline v0 {

namespace {

std::atomic<std::uint64_t> generation{0};

/// Held across fork(), so that the child finds the list whole. Never destroyed: other statics may
/// still hold clients when the program ends.
struct Registry {
    std::mutex mutex;
    std::vector<int> descriptors;
};

Registry& registry() {
    static Registry& instance = *new Registry;
    return instance;
}

void before_fork() {
    registry().mutex.lock();
}
void after_fork_in_parent() {
    registry().mutex.unlock();
}
void after_fork_in_child() {
    for (const int descriptor : registry().descriptors) ::close(descriptor);
    registry().descriptors.clear();
    generation.fetch_add(1, std::memory_order_relaxed);
    registry().mutex.unlock();
}

void watch_forks() {
    static const int watching =
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    static_cast<void>(watching);
}

}  // namespace

std::uint64_t fork_generation() noexcept {
    watch_forks();
    return generation.load(std::memory_order_relaxed);
}

ClosedInChild::ClosedInChild(int descriptor) : descriptor_(descriptor) {
    watch_forks();
    const std::lock_guard guard(registry().mutex);
    try {
        registry().descriptors.push_back(descriptor);
    } catch (...) {
        ::close(descriptor);
        throw;
    }
}

ClosedInChild::~ClosedInChild() {
    const std::lock_guard guard(registry().mutex);
    // In a forked child it is closed already, and the number may be somebody else's by now.
    if (std::erase(registry().descriptors, descriptor_) > 0) ::close(descriptor_);
}

}  // namespace holdfast::inline v0
