#pragma once

#include <cstddef>
#include <new>

/// Memory that is not to be had just once.
namespace holdfast::test {

/// Of the allocations that are made by `new` inside of run(), the one with that number fails, from
/// one on. It counts for the thread that runs it.
class ScarceMemory {
public:
    explicit ScarceMemory(std::size_t failing) : left_(failing) {}

    /// Whether all of it was done; false: it ended by std::bad_alloc.
    template <class Function>
    bool run(Function function) {
        const Counting counting(left_);
        try {
            function();
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }
    /// Not so while there were fewer.
    bool has_failed() const { return left_ == 0; }

private:
    /// This thread's allocations, while it lives.
    class Counting {
    public:
        explicit Counting(std::size_t& left);
        ~Counting();
        Counting(const Counting&) = delete;
        Counting& operator=(const Counting&) = delete;
    };

    std::size_t left_;
};

}  // namespace holdfast::test
