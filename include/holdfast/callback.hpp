#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast::inline v0 {

template <class Signature>
class Callback;

/// A function to be called later, at most as often as its owner likes. Move-only, so that it can
/// carry what cannot be copied (a Hold, a completion handler). Calling an empty one is a
/// programmer's error. Not safe to use from two threads at once.
template <class... Arguments>
class Callback<void(Arguments...)> {
public:
    Callback() = default;

    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, Callback> &&
                 std::invocable<std::remove_cvref_t<Function>&, Arguments...>)
    Callback(Function&& function)
        : body_(std::make_unique<Body<std::remove_cvref_t<Function>>>(
              std::forward<Function>(function))) {}

    void operator()(Arguments... arguments) const {
        body_->call(std::forward<Arguments>(arguments)...);
    }
    explicit operator bool() const noexcept { return body_ != nullptr; }

private:
    struct Base {
        virtual ~Base() = default;
        virtual void call(Arguments... arguments) = 0;
    };
    template <class Function>
    struct Body final : Base {
        template <class Given>
        explicit Body(Given&& given) : function(std::forward<Given>(given)) {}
        void call(Arguments... arguments) override {
            function(std::forward<Arguments>(arguments)...);
        }
        Function function;
    };

    std::unique_ptr<Base> body_;
};

}  // namespace holdfast::inline v0
