#pragma once

#include <cstddef>
#include <mutex>

namespace holdfast::inline v0::listed {

/// Answers that are awaited together. Those of two turns of a wire may be told at the same time, on
/// two threads: what each brings is taken down under a lock, and whoever brings the last one goes
/// on with all.
class Awaited {
public:
    /// So many. Before any of them is asked for.
    void expect(std::size_t count) {
        const std::lock_guard guard(mutex_);
        left_ = count;
    }
    /// One has come: `take_down()` is called for it. Whether it was the last.
    template <class TakeDown>
    [[nodiscard]] bool is_last(TakeDown take_down) {
        const std::lock_guard guard(mutex_);
        take_down();
        return --left_ == 0;
    }

private:
    std::mutex mutex_;
    std::size_t left_ = 0;
};

}  // namespace holdfast::inline v0::listed
