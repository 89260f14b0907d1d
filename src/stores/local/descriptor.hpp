#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <utility>

namespace holdfast::inline v0::local {

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    int get() const noexcept { return number_; }
    int release() noexcept { return std::exchange(number_, -1); }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

/// While it exists, what is opened is neither standard input nor output nor error. In a program
/// that was started with those closed, whatever it prints would go into the store's files.
class BeyondStandard {
public:
    BeyondStandard() {
        for (Descriptor& place : places_) {
            place = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
            if (place.get() > STDERR_FILENO) {
                place = Descriptor();
                break;
            }
        }
    }

private:
    std::array<Descriptor, STDERR_FILENO + 1> places_;
};

}  // namespace holdfast::inline v0::local
