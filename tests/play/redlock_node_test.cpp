#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exploration/node.hpp"
#include "servers/redis_server.hpp"
#include "simulation/random.hpp"
#include "stores/redlock/redlock_scripts.hpp"
#include "stores/scripted/words.hpp"
#include "support/soak.hpp"

/// The scripts of one of several independent nodes, on a real server, beside the model that the
/// exploration explores: they answer the same.
namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using exploration::Request;
using exploration::Wall;
using redlock::Vote;

constexpr redlock::Terms terms{.nodes = 3, .max_lease = 20ms};

std::vector<std::string> parts_of(const std::string& answer) {
    std::vector<std::string> parts;
    std::istringstream inside(answer.substr(1, answer.size() - 2));
    for (std::string part; std::getline(inside, part, ',');) {
        parts.push_back(part.substr(part.find_first_not_of(' ')));
    }
    return parts;
}

class ANodesScripts : public testing::TestWithParam<std::uint64_t> {
protected:
    ANodesScripts() { run_script(redlock::scripts::mark, {"holdfast/=run"}, {run()}); }

    std::string run_script(std::string_view text, const std::vector<std::string>& keys,
                           const std::vector<std::string>& arguments) const {
        std::vector<std::string> words{"EVAL", std::string(text), std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), arguments.begin(), arguments.end());
        return server_.command(words);
    }

    /// As the server answers it, and when, by its clock.
    std::pair<Vote, Wall> vote_on(const Request& request) const {
        const auto text = ask(request);
        const auto parts = parts_of(text);
        EXPECT_GE(parts.size(), 3U) << text;
        if (parts.size() < 3) return {};
        static constexpr Vote::Kind kinds[] = {Vote::Kind::none,      Vote::Kind::admitted,
                                               Vote::Kind::busy,      Vote::Kind::gone,
                                               Vote::Kind::forgetful, Vote::Kind::ahead};
        Vote vote{.kind = kinds[std::stoi(parts[0])], .fence = std::stoull(parts[1])};
        if (parts.size() > 3) vote.after = std::chrono::milliseconds{std::stoll(parts[3])};
        if (parts.size() > 4) vote.rival = scripted::nonce_of(parts[4]).value_or(Nonce{});
        return {vote, Wall{std::stoll(parts[2])}};
    }
    std::string ask(const Request& request) const {
        const auto nonce = scripted::hex_of(request.nonce);
        const auto lease = std::to_string(request.lease.count());
        const auto fence = std::to_string(request.fence);
        switch (request.kind) {
            case Request::Kind::enter:
                return ask(redlock::scripts::enter, {nonce, lease, std::to_string(request.weight),
                                                     std::to_string(all), fence, "who", "", "0"});
            case Request::Kind::renew:
                return ask(redlock::scripts::renew,
                           {nonce, lease, std::to_string(request.serial), fence});
            case Request::Kind::leave:
                break;
        }
        return ask(redlock::scripts::leave, {nonce, "60000", ""});
    }
    std::string ask(std::string_view text, std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(),
                         {run(), std::to_string(terms.max_lease.count()), "5e7"});
        return run_script(text,
                          {"{holdfast/abc}jobs=", "{holdfast/abc}#fence", "{holdfast/abc}jobs=left",
                           "{holdfast/abc}jobs=called", "holdfast/=run"},
                          arguments);
    }

    /// Another run, that a client finds at once.
    void restart(exploration::Node::Memory kept) {
        ++run_;
        Nonce stranger;
        stranger.bytes.fill(std::byte{0xff});
        const auto [vote, clock] = vote_on({.nonce = stranger, .lease = 10ms});
        EXPECT_EQ(vote.kind, Vote::Kind::forgetful);
        EXPECT_EQ(vote.after, terms.max_lease);
        model_.restart(std::move(kept), clock);
    }
    std::string run() const { return std::to_string(run_); }

    Request any_request() {
        static constexpr Request::Kind kinds[] = {Request::Kind::enter, Request::Kind::enter,
                                                  Request::Kind::enter, Request::Kind::renew,
                                                  Request::Kind::leave};
        Request request{.kind = kinds[random_.below(5)],
                        .weight = random_.chance(600) ? all : 1,
                        .lease = std::chrono::milliseconds{random_.between(1U, 20U)}};
        // Now and then a new one, and those of a moment ago.
        if (random_.chance(100)) ++newest_;
        request.nonce.bytes[0] = static_cast<std::byte>(newest_ >> 8U);
        request.nonce.bytes[1] = static_cast<std::byte>(newest_ - random_.below(5));
        const auto last = model_.memory().last_fence;
        if (request.kind == Request::Kind::renew) {
            request.serial = random_.below(4);
            request.fence = last + random_.below(30'000);
        } else if (random_.chance(500)) {
            request.fence = last + random_.below(20'000);
        }
        return request;
    }

    RedisServer& server_ = RedisServer::shared();
    const int flushed_ = (server_.flush(), 0);
    int run_ = 1;
    exploration::Node model_{terms, exploration::Lapse::none};
    simulation::Random random_{GetParam()};
    std::uint64_t newest_ = 5;
};

TEST_P(ANodesScripts, AnswerWhatTheModelDoes) {
    std::vector<int> votes(8);
    for (int i = 0; i < rounds(10'000, 200'000) && !HasFailure(); ++i) {
        if (random_.chance(1)) restart(model_.memory());
        if (random_.chance(1)) {
            server_.flush();
            restart({});
        }
        const Request request = any_request();
        const auto [vote, clock] = vote_on(request);
        Vote expected = model_.answer(request, clock);
        // A leave tells the fence of one that was in.
        if (request.kind == Request::Kind::leave) expected.fence = vote.fence;
        ++votes[static_cast<std::size_t>(vote.kind)];
        EXPECT_EQ(vote.kind, expected.kind) << "request " << i;
        EXPECT_EQ(vote.fence, expected.fence) << "request " << i;
        EXPECT_EQ(vote.rival, expected.rival) << "request " << i;
        EXPECT_EQ(vote.after, expected.after) << "request " << i;
    }
    for (const Vote::Kind kind : {Vote::Kind::admitted, Vote::Kind::busy, Vote::Kind::gone,
                                  Vote::Kind::forgetful, Vote::Kind::ahead}) {
        EXPECT_GT(votes[static_cast<std::size_t>(kind)], 10) << static_cast<int>(kind);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ANodesScripts, testing::Values(1, 2, 3));

}  // namespace
}  // namespace holdfast::test
