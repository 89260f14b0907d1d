#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace holdfast::cli {

/// Owns a file descriptor. A negative one is the failed call that should have given it, and throws.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {
        if (descriptor < 0) throw std::system_error(errno, std::generic_category());
    }
    /// -1 is none, and no failure.
    static Descriptor or_none(int descriptor) {
        Descriptor result;
        result.descriptor_ = descriptor;
        return result;
    }
    Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Descriptor() {
        if (descriptor_ >= 0) close(descriptor_);
    }

    int get() const noexcept { return descriptor_; }

private:
    int descriptor_ = -1;
};

/// Something that happens once, and that poll() sees.
class Event {
public:
    Event() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    /// Makes it happen. May be called from any thread.
    void set() const noexcept {
        const std::uint64_t one = 1;
        static_cast<void>(!write(descriptor_.get(), &one, sizeof one));
    }
    int descriptor() const noexcept { return descriptor_.get(); }

private:
    Descriptor descriptor_;
};

}  // namespace holdfast::cli
