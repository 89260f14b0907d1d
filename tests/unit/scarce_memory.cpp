#include "unit/scarce_memory.hpp"

#include <cstdlib>

// Where the code of this program begins and ends, as the linker has it.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace {

using holdfast::test::ScarceMemory;

/// This thread's; null: there is enough.
thread_local ScarceMemory* scarce = nullptr;

}  // namespace

// Those of the whole program that this is linked to.

void* operator new(std::size_t size) {
    if (scarce != nullptr && scarce->fails_for(__builtin_return_address(0))) throw std::bad_alloc();
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

bool ScarceMemory::fails_for(const void* caller) {
    const bool is_ours = caller >= &__executable_start && caller < &etext;
    if (asked_by_ == AskedBy::this_program && !is_ours) return false;
    return left_ > 0 && --left_ == 0;
}

ScarceMemory::Counting::Counting(ScarceMemory& memory) {
    scarce = &memory;
}
ScarceMemory::Counting::~Counting() {
    scarce = nullptr;
}

}  // namespace holdfast::test
