#include "stores/redis/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/resp.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

/// A server that knows the scripts that it was given, and writes down whom it has served.
class ServerOfFunctions {
public:
    /// Carries out one request, as it was sent; what it answers.
    Reply answer(const test::Resp& request) {
        std::vector<std::string> words;
        for (const auto& part : request.parts) words.push_back(part.text);
        if (words[0] == "FUNCTION") return given(words[3]);
        if (words[0] == "FCALL" && !functions_.contains(words[1])) {
            return error("ERR Function not found");
        }
        if (words[0] == "EVALSHA" && !digests_.contains(words[1])) {
            return error("NOSCRIPT No matching script. Please use EVAL.");
        }
        if (words[0] == "EVAL") digests_.insert(digest_of_[words[1]]);
        return serve(words);
    }

    void takes_no_functions() { takes_functions_ = false; }
    void forget() {
        functions_.clear();
        digests_.clear();
    }
    void know(const Script& script) { digest_of_[std::string(script.text())] = script.digest(); }
    /// Each of whom is a word "guest ...".
    std::vector<std::string> served;
    /// What it says in place of the answers to several, once it has served them.
    std::optional<Reply> in_place_of_answers;

private:
    static Reply error(const std::string& text) {
        return {.kind = Reply::Kind::error, .text = text};
    }
    Reply given(const std::string& library) {
        if (!takes_functions_) return error("NOPERM it has no permissions to run 'function|load'");
        const auto name = library.find("holdfast_");
        functions_.insert(library.substr(name, library.find('\n') - name));
        return {.kind = Reply::Kind::status, .text = "OK"};
    }
    Reply serve(const std::vector<std::string>& words) {
        Reply all{.kind = Reply::Kind::array};
        for (const std::string& word : words) {
            if (!word.starts_with("guest ")) continue;
            served.push_back(word);
            all.elements.push_back({.kind = Reply::Kind::text, .text = word});
        }
        if (all.elements.size() == 1) return all.elements.front();
        return in_place_of_answers.value_or(all);
    }

    bool takes_functions_ = true;
    std::set<std::string> functions_;
    std::set<std::string> digests_;
    std::map<std::string, std::string> digest_of_;
};

class AnExchange : public testing::Test {
protected:
    AnExchange() {
        for (const Script* script : {&together_, &enter_, &leave_}) server_.know(*script);
    }

    void submit(const Script& script) {
        Command command(script, 1);
        submit(std::move(command));
    }
    void submit_leave() {
        Command command(leave_, 1);
        submit(std::move(command.passing()));
    }
    void submit(Command command) {
        const std::string guest = "guest " + std::to_string(++submitted_);
        command << "key" << guest;
        auto request = std::make_unique<Request>(
            std::move(command), [](const Answer&) {}, Moment::max());
        request->number = submitted_;
        exchange_.send_again(std::move(request));
        expected_.push_back(guest);
    }
    void submit(const Script& script, int count) {
        for (; count > 0; --count) submit(script);
    }
    /// Everything that may goes out, and stays under way.
    void send() {
        while (exchange_.may_encode()) exchange_.encode(under_way_);
    }
    /// One request of those under way is served, and answered.
    bool serve_one() {
        std::string_view rest = under_way_;
        const auto request = test::read_resp(rest);
        if (!request) return false;
        under_way_.erase(0, under_way_.size() - rest.size());
        std::vector<Exchange::Answered> answered;
        exchange_.take(server_.answer(*request), answered);
        for (const auto& [asked, reply] : answered) {
            answered_.push_back(reply.text);
            any_repeated_ = any_repeated_ || asked->repeated;
        }
        return true;
    }
    void serve_all() {
        do {
            send();
        } while (serve_one());
    }
    void expect_served_in_order() const {
        EXPECT_EQ(server_.served, expected_);
        EXPECT_EQ(answered_, expected_);
        EXPECT_TRUE(exchange_.is_idle());
    }

    const Script together_{"return 'together'"};
    const Script enter_{"return 'enter'", together_, "enter", 1};
    const Script leave_{"return 'leave'", together_, "leave", 1};
    const Address address_;
    ServerOfFunctions server_;
    Exchange exchange_{address_};
    std::string under_way_;
    std::uint64_t submitted_ = 0;
    std::vector<std::string> expected_;
    std::vector<std::string> answered_;
    bool any_repeated_ = false;
};

TEST_F(AnExchange, LetsNobodyPassThoseWhoseScriptTheServerHasToBeGivenFirst) {
    submit(enter_);
    serve_all();
    submit(enter_, 33);  // a group, which goes by another script, and one that goes alone
    serve_all();
    expect_served_in_order();
}

TEST_F(AnExchange, LetsNobodyPassWhoComesWhileThatIsFoundOut) {
    submit(enter_);
    serve_all();
    submit(enter_, 2);
    send();
    submit(enter_);
    send();
    submit(leave_);
    serve_all();
    submit(enter_, 3);
    serve_all();
    expect_served_in_order();
}

/// Who leaves may end, and would take its leave along.
TEST_F(AnExchange, LetsThoseWhoLeavePassAnybodyWhoWaitsForAScript) {
    submit(enter_);
    send();
    submit(enter_);
    submit_leave();
    submit(enter_);
    submit_leave();
    send();
    EXPECT_EQ(exchange_.in_flight().size(), 3U) << "the first, and those who leave";
    EXPECT_EQ(exchange_.waiting().size(), 2U);
    under_way_.clear();
    exchange_.lost();
    server_.forget();
    serve_all();
    expect_served_in_order();
}

TEST_F(AnExchange, KeepsTheOrderOfThoseWhomOthersPass) {
    submit(enter_);
    send();
    submit(enter_, 3);
    submit_leave();
    submit(enter_, 2);
    serve_all();
    EXPECT_EQ(server_.served.size(), expected_.size());
    std::erase(server_.served, "guest 5");
    std::erase(expected_, "guest 5");
    EXPECT_EQ(server_.served, expected_);
    EXPECT_TRUE(exchange_.is_idle());
}

TEST_F(AnExchange, LetsNobodyPassWhereOnlyTextsAreKnown) {
    server_.takes_no_functions();
    submit(enter_);
    serve_all();
    submit(enter_, 33);
    send();
    submit(leave_);
    serve_all();
    expect_served_in_order();
}

TEST_F(AnExchange, LetsNobodyPassOnTheNextConnection) {
    submit(enter_);
    serve_all();
    submit(enter_, 40);
    send();
    under_way_.clear();
    exchange_.lost();
    server_.forget();
    serve_all();
    expect_served_in_order();
}

TEST_F(AnExchange, KnowsThatThoseMayHaveBeenServedWhomAnAnswerDoesNotTellApart) {
    submit(enter_, 2);
    server_.in_place_of_answers = Reply{.kind = Reply::Kind::text, .text = "something"};
    serve_all();
    submit(enter_, 2);
    serve_all();
    EXPECT_EQ(answered_, expected_);
    EXPECT_TRUE(any_repeated_);
}

TEST_F(AnExchange, HoldsNothingBackBehindWhatTheServerKnows) {
    submit(enter_);
    submit(enter_, 2);
    serve_all();
    submit(enter_, 32);
    submit(enter_);
    send();
    EXPECT_EQ(exchange_.in_flight().size(), 33U);
    serve_all();
    expect_served_in_order();
}

}  // namespace
}  // namespace holdfast::redis
