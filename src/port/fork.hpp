#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <holdfast/export.hpp>

namespace holdfast::inline v0 {

/// Grows by one in the child at every fork(). What remembers another value was made by a parent
/// and is inert here. Cheap: no system call.
HOLDFAST_EXPORT std::uint64_t fork_generation() noexcept;

/// Remembers in which process it was made.
class ForkMark {
public:
    ForkMark() noexcept : generation_(fork_generation()) {}
    /// Whether this is a forked child's copy.
    bool inherited() const noexcept { return generation_ != fork_generation(); }

private:
    std::uint64_t generation_;
};

/// One value for each process: a forked child has a new one, in whatever state the fork caught the
/// parent's. Never destroyed.
template <class T>
class PerProcess {
public:
    T& get() {
        Made* made = made_.load(std::memory_order_acquire);
        if (made != nullptr && !made->mark.inherited()) return made->value;
        auto fresh = std::make_unique<Made>();
        if (!made_.compare_exchange_strong(made, fresh.get())) return made->value;
        return fresh.release()->value;
    }

private:
    struct Made {
        ForkMark mark;
        T value;
    };
    std::atomic<Made*> made_{nullptr};
};

/// A descriptor that a forked child closes at once, because its mere existence there would say
/// that the parent lives. Owns the descriptor.
class HOLDFAST_EXPORT ClosedInChild {
public:
    explicit ClosedInChild(int descriptor);
    ~ClosedInChild();
    ClosedInChild(const ClosedInChild&) = delete;
    ClosedInChild& operator=(const ClosedInChild&) = delete;

    int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

}  // namespace holdfast::inline v0
