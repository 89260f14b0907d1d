#include "stores/sql/sql_wire.hpp"

#include <gtest/gtest.h>

#include <new>

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

/// Answers with the verb that it was asked for, and an end. Throws once where it was told to.
class Forgetful final : public Session {
public:
    enum class Fails : std::uint8_t { nowhere, asking, answering };

    explicit Forgetful(Fails& fails) : fails_(fails) { state_ = State::idle; }
    void advance() override {
        if (state_ != State::busy || reply_whole_) return;
        reply_.rows.push_back({verb_});
        fail_if(Fails::answering);
        reply_.rows.push_back({"end"});
        reply_whole_ = true;
    }
    std::optional<Moment> due() const noexcept override { return Moment{}; }
    int descriptor() const noexcept override { return -1; }
    void ask(const Call& call) override {
        state_ = State::busy;
        fail_if(Fails::asking);
        verb_ = call.verb;
    }
    void run(std::string_view /*script*/) override {}
    std::vector<std::string> take_pushes() override { return {}; }

private:
    void fail_if(Fails here) {
        if (fails_ != here) return;
        fails_ = Fails::nowhere;
        throw std::bad_alloc();
    }

    Fails& fails_;
    std::string verb_;
};

class Forgetfully final : public Dialect {
public:
    std::unique_ptr<Session> open(Purpose /*purpose*/,
                                  std::function<void()> /*resolved*/) const override {
        return std::make_unique<Forgetful>(fails);
    }
    std::string_view schema() const override { return {}; }
    Meaning meaning_of(const ServerError& /*error*/) const override { return {}; }
    const std::string& client() const override { return client_; }

    mutable Forgetful::Fails fails = Forgetful::Fails::nowhere;

private:
    const std::string client_;
};

/// What has come of its answer is not taken for the whole.
TEST(SqlWire, ASessionInWhichMemoryRanOutIsGivenUpAndWhatItWasAskedIsAskedAgain) {
    const auto dialect = std::make_shared<Forgetfully>();
    Address address;
    address.request_timeout = 10s;
    SqlWire wire(address, dialect);
    for (const auto fails : {Forgetful::Fails::asking, Forgetful::Fails::answering}) {
        dialect->fails = fails;
        std::vector<Answer> answers;
        Wire::Waiter waiter;
        wire.submit({"look", {}}, [&](Answer answer) {
            answers.push_back(std::move(answer));
            wire.signal(waiter);
        });
        const Moment end = BootClock::now() + 5s;
        while (answers.empty() && BootClock::now() < end) {
            try {
                wire.wait(waiter, end);
            } catch (const std::bad_alloc&) {
                // Whoever leads is told, and the next one goes on.
            }
        }
        ASSERT_EQ(answers.size(), 1U);
        ASSERT_TRUE(answers[0].result.ok()) << answers[0].result.failure().sentence;
        EXPECT_EQ(answers[0].result.value().rows.size(), 2U);
        EXPECT_EQ(answers[0].result.value().rows[0][0], "look");
    }
}

}  // namespace
}  // namespace holdfast::inline v0::sql
