#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::inline v0::memcached {

/// One of memcached's meta commands.
class Command {
public:
    /// Makes an item, where there is none.
    static Command add(std::string_view key, std::string_view value,
                       std::chrono::milliseconds lease);
    /// Makes it anew, where it is of this version still.
    static Command replace(std::string_view key, std::string_view value,
                           std::chrono::milliseconds lease, std::uint64_t cas);
    /// Ends it, where it is of this version still.
    static Command remove(std::string_view key, std::uint64_t cas);
    /// Its value, its version, and how long it lives.
    static Command look(std::string_view key);
    /// Asks for nothing.
    static Command nothing();

    /// As the server wants it. The number comes back in the answer.
    void append_to(std::string& bytes, std::uint64_t number) const;

private:
    Command(std::string line, std::string_view value = {})
        : line_(std::move(line)), value_(value) {}

    std::string line_;
    std::string value_;  ///< with its end; empty: there is none
};

/// The server counts in whole seconds, and the first of them has begun already: so many and one
/// more are no less than this.
std::int64_t seconds_for(std::chrono::milliseconds lease);

}  // namespace holdfast::inline v0::memcached
