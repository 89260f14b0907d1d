#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast::inline v0 {

template <class Signature>
class Callback;

/// A function to be called later, at most as often as its owner likes. Move-only, so that it can
/// carry what cannot be copied (a Hold, a completion handler). A small one is kept inside, without
/// an allocation. Made of what is empty itself (a std::function, a null pointer) it is empty.
/// Calling an empty one is a programmer's error. Not safe to use from two threads at
/// once.
template <class... Arguments>
class Callback<void(Arguments...)> {
public:
    Callback() = default;

    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, Callback> &&
                 std::invocable<std::remove_cvref_t<Function>&, Arguments...>)
    Callback(Function&& function) {
        using Given = std::remove_cvref_t<Function>;
        if constexpr (can_be_empty<Given>) {
            if (function == nullptr) return;
        }
        if constexpr (fits<Given>) {
            ::new (static_cast<void*>(room_)) Given(std::forward<Function>(function));
            body_ = &Inside<Given>::body;
        } else {
            ::new (static_cast<void*>(room_)) Given*(new Given(std::forward<Function>(function)));
            body_ = &Outside<Given>::body;
        }
    }

    Callback(Callback&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {
        if (body_ != nullptr) body_->move(other.room_, room_);
    }
    Callback& operator=(Callback&& other) noexcept {
        if (this == &other) return *this;
        clear();
        body_ = std::exchange(other.body_, nullptr);
        if (body_ != nullptr) body_->move(other.room_, room_);
        return *this;
    }
    ~Callback() { clear(); }

    void operator()(Arguments... arguments) const {
        body_->call(room_, std::forward<Arguments>(arguments)...);
    }
    explicit operator bool() const noexcept { return body_ != nullptr; }

private:
    /// What can be done with the function that is in the room, or is pointed to from there.
    struct Body {
        void (*call)(std::byte* room, Arguments&&... arguments);
        void (*move)(std::byte* from, std::byte* to) noexcept;
        void (*destroy)(std::byte* room) noexcept;
    };

    template <class Function>
    struct Inside {
        static Function& in(std::byte* room) noexcept {
            return *std::launder(reinterpret_cast<Function*>(room));
        }
        static void call(std::byte* room, Arguments&&... arguments) {
            in(room)(std::forward<Arguments>(arguments)...);
        }
        static void move(std::byte* from, std::byte* to) noexcept {
            ::new (static_cast<void*>(to)) Function(std::move(in(from)));
            in(from).~Function();
        }
        static void destroy(std::byte* room) noexcept { in(room).~Function(); }
        static constexpr Body body{call, move, destroy};
    };

    template <class Function>
    struct Outside {
        using Pointer = Inside<Function*>;
        static void call(std::byte* room, Arguments&&... arguments) {
            (*Pointer::in(room))(std::forward<Arguments>(arguments)...);
        }
        static void destroy(std::byte* room) noexcept { delete Pointer::in(room); }
        static constexpr Body body{call, Inside<Function*>::move, destroy};
    };

    /// One without captures has a null to compare with too, as the pointer that it becomes.
    template <class Function>
    static constexpr bool can_be_empty = std::is_pointer_v<Function> ||
                                         (std::is_constructible_v<Function, std::nullptr_t> &&
                                          requires(const Function& one) { one == nullptr; });

    static constexpr std::size_t room_size = 6 * sizeof(void*);
    template <class Function>
    static constexpr bool fits =
        sizeof(Function) <= room_size &&
        alignof(void*) % alignof(Function) == 0 && std::is_nothrow_move_constructible_v<Function>;

    void clear() noexcept {
        if (body_ != nullptr) std::exchange(body_, nullptr)->destroy(room_);
    }

    const Body* body_ = nullptr;
    alignas(void*) mutable std::byte room_[room_size];
};

}  // namespace holdfast::inline v0
