#include "stores/net/bell.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

#include "port/wire.hpp"

namespace holdfast::inline v0::net {

Bell::Bell(int interrupt_descriptor) {
    const int copy = fcntl(interrupt_descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw out_of_descriptors();
    descriptor_ = {new int(copy), [](const int* owned) {
                       close(*owned);
                       delete owned;
                   }};
}

void Bell::ring() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!write(*descriptor_, &one, sizeof one));
}

}  // namespace holdfast::inline v0::net
