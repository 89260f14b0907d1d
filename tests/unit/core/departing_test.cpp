#include "core/departing.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

Contender of(const std::string& resource) {
    Contender one;
    one.resource = resource;
    return one;
}

TEST(DepartingResources, KeepNobodyWhoAsksForOthers) {
    Departing departing;
    departing.begins("orders");
    bool gone = false;
    const Contender other = of("invoices");
    departing.after({&other, 1}, [&] { gone = true; });
    EXPECT_TRUE(gone);
}

TEST(DepartingResources, LetWhoAsksForThemGoWhenAllOfThemAreAnswered) {
    Departing departing;
    departing.begins("a");
    departing.begins("b");
    departing.begins("b");
    int gone = 0;
    const std::vector<Contender> both{of("a"), of("b")};
    departing.after(both, [&] { ++gone; });
    departing.is_over("a");
    departing.is_over("b");
    EXPECT_EQ(gone, 0);
    departing.is_over("b");
    EXPECT_EQ(gone, 1);
    departing.after(both, [&] { ++gone; });
    EXPECT_EQ(gone, 2);
}

TEST(DepartingResources, KeepAThreadForSoLongAtTheMost) {
    Departing departing;
    departing.begins("orders");
    const Contender one = of("orders");
    departing.await({&one, 1}, std::chrono::milliseconds{20});
    departing.is_over("orders");
    departing.await({&one, 1}, std::chrono::hours{1});
}

}  // namespace
}  // namespace holdfast::core
