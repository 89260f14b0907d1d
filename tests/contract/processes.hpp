#pragma once

#include "contract/stores.hpp"
#include "support/contender.hpp"

namespace holdfast::test {

/// A store and real processes that contend for it, to be killed and stopped.
class Processes : public Contract {
protected:
    /// A process that does what it is told.
    Child talker() const {
        Child child = contenders_.talker();
        EXPECT_EQ(child.hear(), "ready");
        return child;
    }

    /// One that will die or stand still.
    Child mortal() const {
        Child child = mortals_.talker();
        EXPECT_EQ(child.hear(), "ready");
        return child;
    }

    /// The order to acquire, for one that will die: with a long lease where the store notices a
    /// death, otherwise with one that a test can wait for.
    static std::string acquire_mortally(const std::string& name) {
        return "acquire " + name + (GetParam().notices_death ? " 60000" : " 1000");
    }
    /// Within what time a dead one's place is taken: far less than that long lease.
    static std::chrono::seconds soon_after_death() {
        return std::chrono::seconds{GetParam().notices_death ? 2 : 10};
    }

    /// One that is told to acquire "orders", at that place among those who wait.
    Child waiting(std::size_t place) const { return in_line(talker(), "acquire orders", place); }
    Child mortal_waiting(std::size_t place) const {
        return in_line(mortal(), acquire_mortally("orders"), place);
    }
    Child mortal_holding() const {
        Child child = mortal();
        EXPECT_GT(fence_in(child.ask(acquire_mortally("orders"))), 0U);
        return child;
    }

    Contenders contenders_{site_->url()};
    Contenders mortals_{site_->url_of_mortals()};

private:
    Child in_line(Child child, const std::string& order, std::size_t place) const {
        child.say(order);
        EXPECT_TRUE(await_waiters("orders", place));
        return child;
    }
};

}  // namespace holdfast::test
