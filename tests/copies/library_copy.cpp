// The whole library in a plug-in, as a program gets it that loads two plug-ins built with it.
#include <memory>

#include <holdfast/holdfast.hpp>

namespace {
std::unique_ptr<holdfast::Attempt> taken;
}

extern "C" {

/// The fence of a hold of `name`; 0 when it is busy.
HOLDFAST_EXPORT std::uint64_t copy_try_acquire(const char* url, const char* name) {
    auto mutex = holdfast::connect(url).mutex(name);
    taken = std::make_unique<holdfast::Attempt>(mutex.try_acquire());
    return *taken ? (*taken)->fence() : 0;
}

/// Waits for it.
HOLDFAST_EXPORT std::uint64_t copy_acquire(const char* url, const char* name) {
    auto mutex = holdfast::connect(url).mutex(name);
    taken = std::make_unique<holdfast::Attempt>(mutex.acquire());
    return (*taken)->fence();
}

HOLDFAST_EXPORT void copy_release() {
    taken.reset();
}
}
