#pragma once

#include <cstddef>
#include <new>

/// Memory that is not to be had just once.
namespace holdfast::test {

/// Whose allocations count. A library may end the process when there is no memory for it.
enum class AskedBy : unsigned char { anybody, this_program };

/// Of the allocations that are made by `new` inside of run(), the one with that number fails, from
/// one on. It counts for the thread that runs it.
class ScarceMemory {
public:
    explicit ScarceMemory(std::size_t failing, AskedBy asked_by = AskedBy::anybody)
        : left_(failing), asked_by_(asked_by) {}

    /// Whether all of it was done; false: it ended by std::bad_alloc.
    template <class Function>
    bool run(Function function) {
        const Counting counting(*this);
        try {
            function();
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }
    /// Not so while there were fewer.
    bool has_failed() const { return left_ == 0; }

    /// Whether the one that code at this address asks for is to fail.
    bool fails_for(const void* caller);

private:
    /// This thread's allocations, while it lives.
    class Counting {
    public:
        explicit Counting(ScarceMemory& memory);
        ~Counting();
        Counting(const Counting&) = delete;
        Counting& operator=(const Counting&) = delete;
    };

    std::size_t left_;
    const AskedBy asked_by_;
};

}  // namespace holdfast::test
