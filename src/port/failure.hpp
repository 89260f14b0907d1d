#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include <holdfast/error.hpp>

namespace holdfast::inline v0 {

/// Why a request to a store did not succeed. The sentence names the store, the fact and the next
/// step; whoever knows the resource puts its name before it.
struct Failure {
    errc code = errc::unreachable;
    Effect effect = Effect::none;
    std::string sentence;
};

/// An answer, or why there is none.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure failure) : content_(std::in_place_index<1>, std::move(failure)) {}

    bool ok() const noexcept { return content_.index() == 0; }
    T& value() & { return std::get<0>(content_); }
    const T& value() const& { return std::get<0>(content_); }
    T&& value() && { return std::get<0>(std::move(content_)); }
    const Failure& failure() const& { return std::get<1>(content_); }
    Failure&& failure() && { return std::get<1>(std::move(content_)); }

private:
    std::variant<T, Failure> content_;
};

/// The type of an answer, whether it is written as one or as what it holds.
template <class T>
struct AsResult {
    using Type = Result<T>;
};
template <class T>
struct AsResult<Result<T>> {
    using Type = Result<T>;
};

}  // namespace holdfast::inline v0
