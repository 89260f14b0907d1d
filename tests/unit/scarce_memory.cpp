#include "unit/scarce_memory.hpp"

#include <cstdlib>

namespace {

/// How many allocations of this thread there are up to the one that fails; null: none does.
thread_local std::size_t* left_until_failure = nullptr;

}  // namespace

// Those of the whole program that this is linked to.

void* operator new(std::size_t size) {
    std::size_t* const left = left_until_failure;
    if (left != nullptr && *left > 0 && --*left == 0) throw std::bad_alloc();
    if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace holdfast::test {

ScarceMemory::Counting::Counting(std::size_t& left) {
    left_until_failure = &left;
}
ScarceMemory::Counting::~Counting() {
    left_until_failure = nullptr;
}

}  // namespace holdfast::test
