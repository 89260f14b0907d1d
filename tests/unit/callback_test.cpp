#include <holdfast/callback.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

namespace holdfast {
namespace {

/// Counts how many of it there are.
class Counted {
public:
    explicit Counted(int& alive) : alive_(&alive) { ++*alive_; }
    Counted(Counted&& other) noexcept : alive_(other.alive_) { ++*alive_; }
    Counted& operator=(Counted&&) = delete;
    ~Counted() { --*alive_; }

private:
    int* alive_;
};

/// A function of some size that sets `called`.
template <std::size_t size>
auto function_of(int& alive, int& called) {
    return [counted = Counted(alive), &called, filling = std::array<char, size>{}](int value) {
        called = value + filling[0];
    };
}

template <std::size_t size>
void expect_one_life() {
    int alive = 0;
    int called = 0;
    {
        Callback<void(int)> callback = function_of<size>(alive, called);
        EXPECT_EQ(alive, 1);
        Callback<void(int)> moved = std::move(callback);
        EXPECT_EQ(alive, 1);
        EXPECT_FALSE(callback);
        moved(7);
        EXPECT_EQ(called, 7);
        moved(8);
        EXPECT_EQ(called, 8);
        Callback<void(int)> assigned = function_of<size>(alive, called);
        EXPECT_EQ(alive, 2);
        assigned = std::move(moved);
        EXPECT_EQ(alive, 1);
        assigned(9);
        EXPECT_EQ(called, 9);
        assigned = {};
        EXPECT_EQ(alive, 0);
        EXPECT_FALSE(assigned);
    }
    EXPECT_EQ(alive, 0);
}

TEST(ACallback, LivesOnceInsideOfItself) {
    expect_one_life<8>();
}

TEST(ACallback, LivesOnceOutsideOfItself) {
    expect_one_life<1000>();
}

TEST(ACallback, CarriesAndIsGivenWhatCannotBeCopied) {
    std::unique_ptr<int> received;
    const Callback<void(std::unique_ptr<int>)> callback =
        [&received, own = std::make_unique<int>(1)](std::unique_ptr<int> given) {
            *given += *own;
            received = std::move(given);
        };
    callback(std::make_unique<int>(41));
    EXPECT_EQ(*received, 42);
}

TEST(ACallback, PassesReferencesOn) {
    int number = 1;
    const Callback<void(int&)> callback = [](int& given) { given = 5; };
    callback(number);
    EXPECT_EQ(number, 5);
}

TEST(ACallback, MayBeAnotherObjectsMemberFunction) {
    struct Adding {
        void operator()(int value) { sum += value; }
        int& sum;
    };
    int sum = 0;
    const Callback<void(int)> callback = Adding{sum};
    callback(2);
    callback(3);
    EXPECT_EQ(sum, 5);
}

TEST(ACallback, OfWhatIsEmptyIsEmpty) {
    using OfNothing = Callback<void()>;
    EXPECT_FALSE(OfNothing(std::function<void()>()));
    EXPECT_FALSE(OfNothing(static_cast<void (*)()>(nullptr)));
    EXPECT_TRUE(OfNothing(std::function<void()>([] {})));
    EXPECT_TRUE(OfNothing([] {}));
}

}  // namespace
}  // namespace holdfast
