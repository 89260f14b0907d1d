#include "stores/sql/sql_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "port/pending.hpp"
#include "unit/scarce_memory.hpp"

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

/// What a scripted server says to a call; nothing: it is at that for ever.
using Says = std::function<std::optional<Reply>(const Call&)>;

class ScriptedSession final : public Session {
public:
    ScriptedSession(const Says& says, std::vector<std::string>& asked)
        : says_(says), asked_(asked) {}
    void advance() override {
        if (state_ == State::opening) state_ = State::idle;
    }
    /// No descriptor tells that it is there.
    std::optional<Moment> due() const noexcept override {
        return state_ == State::opening ? std::optional(Moment{}) : std::nullopt;
    }
    int descriptor() const noexcept override { return -1; }
    void ask(const Call& call) override {
        state_ = State::busy;
        std::string& asked = asked_.emplace_back(call.verb);
        for (const std::string& word : call.rows.front()) asked += " " + word;
        if (auto reply = says_(call)) {
            reply_ = *std::move(reply);
            reply_whole_ = true;
        }
    }
    void run(std::string_view /*script*/) override {}
    std::vector<std::string> take_pushes() override { return std::exchange(pushes_, {}); }
    void push(std::vector<std::string> pushes) { pushes_ = std::move(pushes); }

private:
    const Says& says_;
    std::vector<std::string>& asked_;
    std::vector<std::string> pushes_;
};

/// Each connection is there at once. What its errors mean is their code.
class ScriptedServer final : public Dialect {
public:
    explicit ScriptedServer(Says says) : says_(std::move(says)) {}
    std::unique_ptr<Session> open(Purpose purpose,
                                  std::function<void()> /*resolved*/) const override {
        auto session = std::make_unique<ScriptedSession>(says_, asked);
        if (purpose == Purpose::pushes) {
            ++listened;
            listener = session.get();
        } else {
            ++opened;
        }
        return session;
    }
    std::string_view schema() const override { return {}; }
    Meaning meaning_of(const ServerError& error) const override {
        Remedy remedy = Remedy::none;
        if (error.code == "again") remedy = Remedy::again;
        if (error.code == "read-only") remedy = Remedy::reconnect;
        return {remedy, {errc::unreachable, Effect::none, error.message}};
    }
    const std::string& client() const override { return client_; }

    mutable int opened = 0;                       ///< for requests
    mutable int listened = 0;                     ///< times somebody came to listen
    mutable ScriptedSession* listener = nullptr;  ///< the last of those
    mutable std::vector<std::string> asked;       ///< in the order in which it heard of it

private:
    const Says says_;
    const std::string client_;
};

const Reply done{.rows = {{"3", "1", "1", "-1"}}};

Reply error(std::string code) {
    return {.error = ServerError{.code = std::move(code), .message = "refused"}};
}

class Hears final : public SqlWire::Listener {
public:
    void missed() override {}
    void pushed(const std::string& /*message*/) override { ++heard; }
    int heard = 0;
};

class OnAScriptedServer : public testing::Test {
protected:
    void serve(Says says, std::chrono::milliseconds request_timeout = 2s) {
        server_ = std::make_shared<ScriptedServer>(std::move(says));
        Address address;
        address.request_timeout = request_timeout;
        wire_ = std::make_unique<SqlWire>(address, server_);
    }
    void submit(const std::string& verb, const std::string& name) {
        wire_->submit({verb, {{name}}}, [](const Answer&) {});
    }
    Result<Reply> answer_to(const std::string& verb, const std::string& name) {
        return answer_to({verb, {{name}}});
    }
    Result<Reply> answer_to(Call call) {
        const auto flight = std::make_shared<Flight<Reply>>(*wire_);
        wire_->submit(std::move(call),
                      [flight](Answer answer) { flight->complete(std::move(answer.result)); });
        return Pending<Reply>(flight).get();
    }
    /// What finds a connection.
    void let_go_out() {
        Wire::Waiter nobody;
        for (int turns = 0; turns < 10; ++turns) wire_->wait(nobody, BootClock::now() + 1ms);
    }
    /// The first of them never ends.
    void crowd(const std::string& name) {
        for (int i = 0; i < 200; ++i) submit("enter", name);
    }

    std::shared_ptr<Hears> hears_ = std::make_shared<Hears>();
    std::shared_ptr<ScriptedServer> server_;
    std::unique_ptr<SqlWire> wire_;
};

/// They go one after the other, on one connection: the others are for the others.
TEST_F(OnAScriptedServer, ManyWhoWantOneResourceDelayNobodyElse) {
    serve([](const Call& call) -> std::optional<Reply> {
        if (call.rows.front().front() == "hot") return std::nullopt;
        return done;
    });
    crowd("hot");
    EXPECT_TRUE(answer_to("enter", "cold").ok());
    EXPECT_TRUE(answer_to("renew", "cold").ok());
}

TEST_F(OnAScriptedServer, ARenewalWaitsForNobodyWhoWantsWhatItKeeps) {
    serve([](const Call& call) -> std::optional<Reply> {
        if (call.verb == "enter") return std::nullopt;
        return done;
    });
    crowd("hot");
    EXPECT_TRUE(answer_to("renew", "hot").ok());
}

/// Which all wait in the server for what somebody has locked.
TEST_F(OnAScriptedServer, ARenewalWaitsForNobodyHoweverManyOthersWantSomething) {
    serve([](const Call& call) -> std::optional<Reply> {
        if (call.verb == "enter") return std::nullopt;
        return done;
    });
    for (int i = 0; i < 10; ++i) submit("enter", std::to_string(i));
    wire_->submit({"enter", {{"several"}, {"together"}}}, [](const Answer&) {});
    let_go_out();
    EXPECT_EQ(server_->asked.size(), 3U);
    EXPECT_TRUE(answer_to("renew", "cold").ok());
}

TEST_F(OnAScriptedServer, WhatGivesBackWaitsForNobodyWhoWantsSomethingElse) {
    serve([](const Call& call) -> std::optional<Reply> {
        if (call.verb == "enter") return std::nullopt;
        return done;
    });
    for (int i = 0; i < 10; ++i) submit("enter", std::to_string(i));
    let_go_out();
    EXPECT_EQ(server_->asked.size(), 3U);
    EXPECT_TRUE(answer_to("leave", "cold").ok());
}

TEST_F(OnAScriptedServer, ARenewalWaitsForNobodyHoweverManyAreGivenBack) {
    serve([](const Call& call) -> std::optional<Reply> {
        if (call.verb == "leave") return std::nullopt;
        return done;
    });
    for (int i = 0; i < 10; ++i) submit("leave", std::to_string(i));
    let_go_out();
    EXPECT_EQ(server_->asked.size(), 4U);
    EXPECT_TRUE(answer_to("renew", "cold").ok());
}

TEST_F(OnAScriptedServer, WhoWantsSomethingGoesBeforeThoseThatWaitedForALockedRow) {
    serve([](const Call& call) {
        if (call.rows.front().front() == "free") return done;
        std::this_thread::sleep_for(150ms);
        return error("again");
    });
    for (int i = 0; i < 3; ++i) submit("enter", "locked" + std::to_string(i));
    EXPECT_TRUE(answer_to("enter", "free").ok());
    const auto& asked = server_->asked;
    EXPECT_LE(std::ranges::find(asked, "enter free") - asked.begin(), 3);
}

TEST_F(OnAScriptedServer, OneThatWaitedForALockedRowStaysBeforeThoseWhoCameLater) {
    bool is_locked = true;
    serve([&](const Call&) {
        if (!std::exchange(is_locked, false)) return done;
        std::this_thread::sleep_for(150ms);
        return error("again");
    });
    wire_->submit({"enter", {{"hot", "first"}}}, [](const Answer&) {});
    EXPECT_TRUE(answer_to({"enter", {{"hot", "second"}}}).ok());
    const std::vector<std::string> in_order{"enter hot first", "enter hot first",
                                            "enter hot second"};
    EXPECT_EQ(server_->asked, in_order);
}

/// They would have all connections again and again.
TEST_F(OnAScriptedServer, ARenewalGoesBeforeThoseThatMetALockedRow) {
    serve([](const Call& call) {
        return call.rows.front().front() == "locked" ? error("again") : done;
    });
    for (int i = 0; i < 10; ++i) submit("renew", "locked");
    EXPECT_TRUE(answer_to("renew", "free").ok());
}

/// So whoever renews parts them: one of them may be why.
TEST_F(OnAScriptedServer, ARefusalOfManyThatAreRenewedIsNotTakenForOneThatWasNotSent) {
    serve([](const Call& call) { return error(call.rows.front().front()); }, 200ms);
    for (const std::string code : {"odd", "again"}) {
        const auto many = answer_to({"renew", {{code}, {"another"}}});
        ASSERT_FALSE(many.ok());
        EXPECT_EQ(many.failure().effect, Effect::unknown) << code;
    }
    EXPECT_EQ(answer_to({"renew", {{"read-only"}, {"another"}}}).failure().effect, Effect::none);
    EXPECT_EQ(answer_to("renew", "odd").failure().effect, Effect::none);
    EXPECT_EQ(answer_to({"enter", {{"odd"}, {"another"}}}).failure().effect, Effect::none);
}

TEST_F(OnAScriptedServer, WhatGivesBackGoesBeforeWhatWants) {
    serve([](const Call& call) -> std::optional<Reply> {
        if (call.verb == "enter") return std::nullopt;
        return done;
    });
    crowd("hot");
    EXPECT_TRUE(answer_to("leave", "hot").ok());
    EXPECT_EQ(server_->asked.front(), "leave hot");
}

TEST_F(OnAScriptedServer, ThoseWhoWantOneResourceGoInTheirOrder) {
    serve([](const Call&) { return done; });
    std::vector<std::string> in_order;
    for (int i = 0; i < 100; ++i) {
        const std::string number = std::to_string(i);
        wire_->submit({"enter", {{"hot", number}}}, [](const Answer&) {});
        submit("enter", "other" + number);
        in_order.push_back("enter hot " + number);
    }
    EXPECT_TRUE(answer_to("enter", "hot").ok());
    std::vector<std::string> of_hot = server_->asked;
    std::erase_if(of_hot, [](const std::string& one) { return !one.starts_with("enter hot "); });
    EXPECT_EQ(of_hot, in_order);
}

/// Each session that it costs is a new one, which the server has to let in.
TEST_F(OnAScriptedServer, ThatSendsUsElsewhereIsNotConnectedToWithoutPause) {
    serve([](const Call&) { return error("read-only"); });
    const Moment until = BootClock::now() + 300ms;
    while (BootClock::now() < until) EXPECT_FALSE(answer_to("leave", "orders").ok());
    EXPECT_LT(server_->opened, 20);
}

/// What is told elsewhere is not heard here.
TEST_F(OnAScriptedServer, ThatSendsUsElsewhereIsNotListenedToAnyMore) {
    bool is_read_only = false;
    serve([&](const Call&) { return is_read_only ? error("read-only") : done; });
    wire_->listen(hears_);
    EXPECT_TRUE(answer_to("enter", "orders").ok());
    EXPECT_EQ(server_->listened, 1);
    is_read_only = true;
    EXPECT_FALSE(answer_to("enter", "orders").ok());
    is_read_only = false;
    const Moment until = BootClock::now() + 5s;
    while (server_->listened == 1 && BootClock::now() < until) {
        EXPECT_TRUE(answer_to("renew", "orders").ok());
    }
    EXPECT_EQ(server_->listened, 2);
}

/// What is pushed in the same turn has used up what was laid by for them.
TEST_F(OnAScriptedServer, WhoeverIsOverdueIsToldThoughMemoryIsScarce) {
    constexpr std::size_t callers = 8;
    for (std::size_t pushes = callers; pushes < 2 * callers; ++pushes) {
        bool has_failed = true;
        for (std::size_t number = 1; has_failed; ++number) {
            serve([](const Call&) { return std::nullopt; }, 1ms);
            wire_->listen(hears_);
            Wire::Waiter waiter;
            EXPECT_FALSE(wire_->wait(waiter, BootClock::now() + 1ms));
            std::size_t told = 0;
            for (std::size_t i = 0; i < callers; ++i) {
                wire_->submit({"enter", {{"hot"}}}, [&](const Answer&) {
                    if (++told == callers) wire_->signal(waiter);
                });
            }
            std::this_thread::sleep_for(2ms);
            server_->listener->push(std::vector<std::string>(pushes, "a word"));
            test::ScarceMemory memory(number);
            const Moment end = BootClock::now() + 5s;
            while (told < callers && BootClock::now() < end) {
                memory.run([&] { wire_->wait(waiter, end); });
            }
            has_failed = memory.has_failed();
            ASSERT_EQ(told, callers)
                << pushes << " pushes, and allocation " << number << " has failed";
        }
    }
}

TEST_F(OnAScriptedServer, ThatAnswersNothingIsLeftAloneMoreAndMore) {
    serve([](const Call&) { return std::nullopt; }, 10ms);
    const Moment until = BootClock::now() + 600ms;
    while (BootClock::now() < until) EXPECT_FALSE(answer_to("enter", "orders").ok());
    EXPECT_LT(server_->opened, 20);
}

/// What was met after so long would be met again when nobody waits any more.
TEST_F(OnAScriptedServer, WhatCannotBeTriedAgainInTimeIsTold) {
    serve(
        [](const Call&) {
            std::this_thread::sleep_for(60ms);
            return error("again");
        },
        100ms);
    const auto result = answer_to("enter", "orders");
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().sentence, "refused");
    EXPECT_EQ(server_->asked.size(), 1U);
}

}  // namespace
}  // namespace holdfast::inline v0::sql
