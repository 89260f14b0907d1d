#include "core/departing.hpp"

#include <gtest/gtest.h>
#include <thread>

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
    const auto a = departing.begins("a");
    const auto b = departing.begins("b");
    const auto other_b = departing.begins("b");
    int gone = 0;
    const std::vector<Contender> both{of("a"), of("b")};
    departing.after(both, [&] { ++gone; });
    departing.is_over("a", a);
    departing.is_over("b", b);
    EXPECT_EQ(gone, 0);
    departing.is_over("b", other_b);
    EXPECT_EQ(gone, 1);
    departing.after(both, [&] { ++gone; });
    EXPECT_EQ(gone, 2);
}

TEST(DepartingResources, KeepNobodyWhoAskedBeforeThem) {
    Departing departing;
    const auto before = departing.begins("a");
    bool gone = false;
    const Contender one = of("a");
    departing.after({&one, 1}, [&] { gone = true; });
    departing.begins("a");
    departing.is_over("a", before);
    EXPECT_TRUE(gone);
}

TEST(DepartingResources, KeepAThreadForSoLongAtTheMost) {
    Departing departing;
    const auto number = departing.begins("orders");
    const Contender one = of("orders");
    Wire wire;
    departing.await({&one, 1}, wire, std::chrono::milliseconds{20}, {});
    departing.is_over("orders", number);
    departing.await({&one, 1}, wire, std::chrono::hours{1}, {});
}

TEST(DepartingResources, KeepNoThreadThatIsStopped) {
    Departing departing;
    departing.begins("orders");
    const Contender one = of("orders");
    Wire wire;
    std::stop_source stop;
    std::jthread stopping([&] { stop.request_stop(); });
    departing.await({&one, 1}, wire, std::chrono::hours{1}, stop.get_token());
}

}  // namespace
}  // namespace holdfast::core
