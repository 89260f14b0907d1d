#include "stores/sql/sql_wire.hpp"

#include <gtest/gtest.h>

#include "port/pending.hpp"

namespace holdfast::inline v0::sql {
namespace {

using namespace std::chrono_literals;

/// As where there is no thread to connect with.
class BrokenFromTheStart final : public Session {
public:
    BrokenFromTheStart() {
        state_ = State::broken;
        trouble_ = {errc::unreachable, Effect::none, "no thread is left"};
    }
    void advance() override {}
    int descriptor() const noexcept override { return -1; }
    void ask(const Call& /*call*/) override {}
    void run(std::string_view /*script*/) override {}
    std::vector<std::string> take_pushes() override { return {}; }
};

class Unlucky final : public Dialect {
public:
    std::unique_ptr<Session> open(Purpose /*purpose*/,
                                  std::function<void()> /*resolved*/) const override {
        ++attempts;
        return std::make_unique<BrokenFromTheStart>();
    }
    std::string_view schema() const override { return {}; }
    Meaning meaning_of(const ServerError& /*error*/) const override { return {}; }
    const std::string& client() const override { return client_; }

    mutable int attempts = 0;

private:
    const std::string client_;
};

TEST(SqlWire, ASessionThatIsBrokenFromTheStartIsTriedAgainAndItsReasonTold) {
    const auto unlucky = std::make_shared<Unlucky>();
    Address address;
    address.request_timeout = 500ms;
    SqlWire wire(address, unlucky);
    const auto flight = std::make_shared<Flight<Reply>>(wire);
    wire.submit({"look", {}},
                [flight](Answer answer) { flight->complete(std::move(answer.result)); });
    const auto result = Pending<Reply>(flight).get();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().sentence, "no thread is left");
    EXPECT_GT(unlucky->attempts, 3);
    EXPECT_LT(unlucky->attempts, 100) << "with no rest in between";
}

}  // namespace
}  // namespace holdfast::inline v0::sql
