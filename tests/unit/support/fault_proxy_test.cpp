#include "support/fault_proxy.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "servers/redis_server.hpp"
#include "support/resp.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

using Words = std::vector<std::string>;

/// Long enough to see that nothing comes, where something would come at once.
constexpr auto moment = 30ms;

class Visitor {
public:
    explicit Visitor(int port) : socket_(connect_to_port(port)) {}

    bool is_connected() const { return static_cast<bool>(socket_); }
    void say(const Words& words) { say_bytes(to_resp(words)); }
    void say_together(const std::vector<Words>& requests) {
        std::string bytes;
        for (const Words& request : requests) bytes += to_resp(request);
        say_bytes(bytes);
    }
    void say_bytes(std::string_view bytes) {
        EXPECT_TRUE(send_all(socket_, bytes)) << "the connection is gone";
    }
    /// The next reply as text, or "end", "reset", or "silence" when nothing came in time.
    std::string hear(std::chrono::milliseconds limit = patience) {
        limit_waiting(socket_, limit);
        for (;;) {
            std::string_view rest = received_;
            if (const auto value = read_resp(rest)) {
                received_.erase(0, received_.size() - rest.size());
                return to_text(*value);
            }
            char buffer[64 * 1024];
            const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
            if (count == 0) return "end";
            if (count < 0) return errno == ECONNRESET ? "reset" : "silence";
            received_.append(buffer, static_cast<std::size_t>(count));
        }
    }
    std::string ask(const Words& words) {
        say(words);
        return hear();
    }
    void expect_to_hear(const Words& replies) {
        for (const std::string& reply : replies) EXPECT_EQ(hear(), reply);
    }
    void leave() { socket_.close(); }

private:
    Socket socket_;
    std::string received_;
};

class FaultProxyTest : public testing::Test {
protected:
    FaultProxyTest() { server_.flush(); }

    std::string value_of(const std::string& key) const { return server_.command({"GET", key}); }
    [[nodiscard]] bool await_value(const std::string& key, const std::string& value) const {
        return await([&] { return value_of(key) == value; });
    }
    static RequestHook on(const std::string& word, Verdict verdict) {
        return [=](std::string_view request) {
            return words_of(request).front() == word ? verdict : Verdict::pass;
        };
    }

    RedisServer& server_ = RedisServer::shared();
    FaultProxy proxy_{server_.port()};
    Visitor visitor_{proxy_.port()};
};

// --- nothing wrong ---

TEST_F(FaultProxyTest, PassesRequestsAndReplies) {
    EXPECT_EQ(visitor_.ask({"SET", "key", "value"}), "OK");
    EXPECT_EQ(visitor_.ask({"GET", "key"}), "value");
    EXPECT_EQ(visitor_.ask({"NONSENSE"}).substr(0, 4), "-ERR");
    EXPECT_EQ(Visitor(proxy_.port()).ask({"GET", "key"}), "value");
    EXPECT_EQ(proxy_.url(), "redis://127.0.0.1:" + std::to_string(proxy_.port()));
}

TEST_F(FaultProxyTest, PassesWhatIsLong) {
    const std::string value(8 << 20, 'x');
    EXPECT_EQ(visitor_.ask({"SET", "key", value}), "OK");
    EXPECT_TRUE(visitor_.ask({"GET", "key"}) == value);
}

TEST_F(FaultProxyTest, PassesWhatIsSentByteByByteAndWhatIsSentTogether) {
    for (const char byte : to_resp({"SET", "key", "value"})) visitor_.say_bytes({&byte, 1});
    EXPECT_EQ(visitor_.hear(), "OK");
    visitor_.say_bytes("PING\r\n" + to_resp({"GET", "key"}) + to_resp({"GET", "no"}));
    visitor_.expect_to_hear({"PONG", "value", "(nil)"});
}

TEST_F(FaultProxyTest, PassesMessagesToSubscribers) {
    visitor_.say({"SUBSCRIBE", "one", "two"});
    visitor_.expect_to_hear({"[subscribe, one, 1]", "[subscribe, two, 2]"});
    server_.command({"PUBLISH", "two", "hello"});
    EXPECT_EQ(visitor_.hear(), "[message, two, hello]");
}

TEST_F(FaultProxyTest, CountsWhatItSees) {
    EXPECT_TRUE(proxy_.await_connections(1));
    visitor_.say_bytes(to_resp({"PING"}) + to_resp({"PING"}) + "*1\r\n$4\r\nPI");
    EXPECT_TRUE(proxy_.await_requests(2));
    visitor_.expect_to_hear({"PONG", "PONG"});
    EXPECT_EQ(proxy_.requests(), 2U);
    EXPECT_EQ(proxy_.bytes_from_clients(), 2 * 14U + 10U);
    EXPECT_EQ(proxy_.bytes_from_server(), 14U);
    EXPECT_EQ(Visitor(proxy_.port()).ask({"PING"}), "PONG");
    EXPECT_EQ(proxy_.connections(), 2U);
}

TEST_F(FaultProxyTest, TellsTheServerThatAClientHasLeft) {
    visitor_.ask({"CLIENT", "SETNAME", "visitor"});
    const auto is_there = [&] {
        return server_.command({"CLIENT", "LIST"}).find("name=visitor") != std::string::npos;
    };
    EXPECT_TRUE(is_there());
    visitor_.leave();
    EXPECT_TRUE(await([&] { return !is_there(); }));
}

TEST_F(FaultProxyTest, TellsAClientThatTheServerHasGone) {
    RedisServer server;
    FaultProxy proxy(server.port());
    Visitor before(proxy.port());
    EXPECT_EQ(before.ask({"PING"}), "PONG");
    server.kill();
    EXPECT_EQ(before.hear(), "end");
    Visitor meanwhile(proxy.port());
    EXPECT_NE(meanwhile.hear(), "silence");
    server.restart();
    EXPECT_EQ(Visitor(proxy.port()).ask({"PING"}), "PONG");
}

// --- drop_replies ---

TEST_F(FaultProxyTest, ADroppedReplyIsOfARequestThatWasDone) {
    proxy_.drop_replies(1);
    EXPECT_EQ(visitor_.ask({"SET", "key", "value"}), "end");
    EXPECT_EQ(value_of("key"), "value") << "at the latest when the client is told";
    EXPECT_EQ(Visitor(proxy_.port()).ask({"GET", "key"}), "value");
}

TEST_F(FaultProxyTest, RepliesAreDroppedUntilThatIsLifted) {
    proxy_.drop_replies();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Visitor(proxy_.port()).ask({"INCR", "key"}), "end");
    EXPECT_EQ(value_of("key"), "3");
    proxy_.pass();
    EXPECT_EQ(visitor_.ask({"INCR", "key"}), "4") << "it had said nothing meanwhile";
}

TEST_F(FaultProxyTest, WithADroppedReplyThoseBehindItAreLostAndThoseBeforeItAreNot) {
    proxy_.on_request(on("SET", Verdict::drop_reply));
    visitor_.say_together({{"INCR", "a"}, {"SET", "b", "1"}, {"INCR", "c"}});
    visitor_.expect_to_hear({"1", "end"});
    EXPECT_EQ(server_.command({"MGET", "a", "b", "c"}), "[1, 1, 1]");
}

TEST_F(FaultProxyTest, ASubscribersMessageIsNotTakenForADroppedReply) {
    EXPECT_EQ(visitor_.ask({"SUBSCRIBE", "one"}), "[subscribe, one, 1]");
    proxy_.drop_replies(1);
    server_.command({"PUBLISH", "one", "hello"});
    EXPECT_EQ(visitor_.hear(), "[message, one, hello]");
    EXPECT_EQ(visitor_.ask({"PING"}), "end");
}

// --- hold_requests ---

TEST_F(FaultProxyTest, HeldRequestsArriveLater) {
    proxy_.hold_requests();
    visitor_.say({"SET", "key", "value"});
    Visitor another(proxy_.port());
    another.say({"INCR", "other"});
    EXPECT_TRUE(proxy_.await_requests(2));
    EXPECT_EQ(visitor_.hear(moment), "silence");
    EXPECT_EQ(server_.command({"DBSIZE"}), "0");
    proxy_.let_pass();
    EXPECT_EQ(visitor_.hear(), "OK");
    EXPECT_EQ(another.hear(), "1");
}

TEST_F(FaultProxyTest, HeldRequestsArriveAlsoWhenTheirClientHasLeft) {
    proxy_.hold_requests();
    visitor_.say_together({{"INCR", "key"}, {"INCR", "key"}});
    EXPECT_TRUE(proxy_.await_requests(2));
    visitor_.leave();
    EXPECT_EQ(server_.command({"DBSIZE"}), "0");
    proxy_.let_pass();
    EXPECT_TRUE(await_value("key", "2"));
}

TEST_F(FaultProxyTest, HeldRequestsArriveAlsoWhenTheirConnectionWasCut) {
    proxy_.hold_requests();
    visitor_.say({"INCR", "key"});
    EXPECT_TRUE(proxy_.await_requests(1));
    proxy_.cut();
    EXPECT_EQ(visitor_.hear(), "end");
    EXPECT_EQ(server_.command({"DBSIZE"}), "0");
    proxy_.pass();
    EXPECT_TRUE(await_value("key", "1"));
}

// --- delay_replies ---

TEST_F(FaultProxyTest, DelayedRepliesAreOfRequestsDoneAtOnce) {
    proxy_.delay_replies(100ms);
    const auto start = std::chrono::steady_clock::now();
    visitor_.say_together({{"INCR", "key"}, {"INCR", "key"}});
    EXPECT_TRUE(await_value("key", "2"));
    EXPECT_EQ(visitor_.hear(), "1");
    EXPECT_GE(std::chrono::steady_clock::now() - start, 100ms);
    EXPECT_EQ(visitor_.hear(), "2");
}

TEST_F(FaultProxyTest, ADelayThatIsLiftedIsLiftedForWhatIsOnItsWay) {
    proxy_.delay_replies(1h);
    visitor_.say({"INCR", "key"});
    EXPECT_TRUE(await_value("key", "1"));
    EXPECT_EQ(visitor_.hear(moment), "silence");
    proxy_.pass();
    EXPECT_EQ(visitor_.hear(), "1");
}

// --- lose_pushes ---

TEST_F(FaultProxyTest, LostPushesAreNoReplies) {
    EXPECT_EQ(visitor_.ask({"SUBSCRIBE", "one"}), "[subscribe, one, 1]");
    Visitor modern(proxy_.port());
    modern.ask({"HELLO", "3"});
    EXPECT_EQ(modern.ask({"SUBSCRIBE", "one"}), "[subscribe, one, 1]");
    proxy_.lose_pushes();
    EXPECT_EQ(server_.command({"PUBLISH", "one", "lost"}), "2");
    EXPECT_EQ(visitor_.ask({"PING"}), "[pong, ]");
    EXPECT_EQ(modern.ask({"PING"}), "PONG");
    proxy_.pass();
    EXPECT_EQ(server_.command({"PUBLISH", "one", "heard"}), "2");
    EXPECT_EQ(visitor_.hear(), "[message, one, heard]");
    EXPECT_EQ(modern.hear(), "[message, one, heard]");
}

// --- garbage ---

TEST_F(FaultProxyTest, GarbageComesInPlaceOfOneReply) {
    proxy_.garbage("@#!\r\n");
    EXPECT_EQ(visitor_.ask({"INCR", "key"}), "@#!");
    EXPECT_EQ(visitor_.ask({"INCR", "key"}), "2");
}

// --- black_hole ---

TEST_F(FaultProxyTest, InABlackHoleNothingPassesAndNobodyIsTold) {
    EXPECT_EQ(visitor_.ask({"SUBSCRIBE", "one"}), "[subscribe, one, 1]");
    proxy_.black_hole();
    Visitor another(proxy_.port());
    EXPECT_TRUE(another.is_connected());
    another.say({"SET", "key", "value"});
    server_.command({"PUBLISH", "one", "hello"});
    EXPECT_EQ(visitor_.hear(moment), "silence");
    EXPECT_EQ(another.hear(moment), "silence");
    EXPECT_EQ(server_.command({"DBSIZE"}), "0");
    proxy_.pass();
    EXPECT_EQ(visitor_.hear(), "[message, one, hello]");
    EXPECT_EQ(another.hear(), "OK");
}

TEST_F(FaultProxyTest, ABlackHoleIsOneForAServerThatHasGoneToo) {
    RedisServer server;
    FaultProxy proxy(server.port());
    Visitor before(proxy.port());
    EXPECT_EQ(before.ask({"PING"}), "PONG");
    proxy.black_hole();
    server.kill();
    Visitor after(proxy.port());
    EXPECT_EQ(before.hear(moment), "silence");
    EXPECT_EQ(after.hear(moment), "silence");
    proxy.cut();
    EXPECT_EQ(before.hear(), "end");
    EXPECT_EQ(after.hear(), "end");
}

// --- cut, half_close, refuse ---

TEST_F(FaultProxyTest, ACutEndsThePresentConnectionsAndNoNewOnes) {
    Visitor another(proxy_.port());
    proxy_.cut();
    EXPECT_EQ(visitor_.hear(), "end");
    EXPECT_EQ(another.hear(), "end");
    EXPECT_EQ(Visitor(proxy_.port()).ask({"PING"}), "PONG");
}

TEST_F(FaultProxyTest, ACutCanBeAReset) {
    EXPECT_EQ(visitor_.ask({"PING"}), "PONG");
    proxy_.cut(Ending::reset);
    EXPECT_EQ(visitor_.hear(), "reset");
    EXPECT_EQ(Visitor(proxy_.port()).ask({"PING"}), "PONG");
}

TEST_F(FaultProxyTest, AHalfClosedConnectionStillReachesTheServer) {
    EXPECT_EQ(visitor_.ask({"PING"}), "PONG");
    proxy_.half_close();
    EXPECT_EQ(visitor_.hear(), "end");
    visitor_.say({"INCR", "key"});
    EXPECT_TRUE(await_value("key", "1"));
    visitor_.say({"INCR", "key"});
    EXPECT_TRUE(await_value("key", "2"));
}

TEST_F(FaultProxyTest, RefusesNewConnectionsAndKeepsThoseThatThereAre) {
    EXPECT_EQ(visitor_.ask({"PING"}), "PONG");
    proxy_.refuse();
    EXPECT_FALSE(connect_to_port(proxy_.port()));
    EXPECT_EQ(errno, ECONNREFUSED);
    EXPECT_EQ(visitor_.ask({"PING"}), "PONG");
    proxy_.pass();
    EXPECT_EQ(Visitor(proxy_.port()).ask({"PING"}), "PONG");
}

// --- on_request ---

TEST_F(FaultProxyTest, TheHookIsShownEachRequest) {
    std::vector<Words> shown;
    proxy_.on_request([&](std::string_view request) {
        shown.push_back(words_of(request));
        return Verdict::pass;
    });
    visitor_.say_together({{"SET", "key", "a b"}, {"PING"}});
    visitor_.expect_to_hear({"OK", "PONG"});
    proxy_.on_request({});
    EXPECT_EQ(visitor_.ask({"GET", "key"}), "a b");
    EXPECT_EQ(shown, (std::vector<Words>{{"SET", "key", "a b"}, {"PING"}}));
}

TEST_F(FaultProxyTest, ARequestCutBeforeIsNotDone) {
    proxy_.on_request(on("SET", Verdict::cut_before));
    visitor_.say_together({{"INCR", "a"}, {"SET", "b", "1"}, {"INCR", "c"}});
    visitor_.expect_to_hear({"1", "end"});
    EXPECT_EQ(server_.command({"MGET", "a", "b", "c"}), "[1, (nil), (nil)]");
}

TEST_F(FaultProxyTest, ARequestCutAfterIsDoneAndNotWaitedFor) {
    proxy_.on_request(on("SET", Verdict::cut_after));
    visitor_.say_together({{"INCR", "a"}, {"SET", "b", "1"}, {"INCR", "c"}});
    visitor_.expect_to_hear({"1", "end"});
    EXPECT_TRUE(await_value("b", "1"));
    EXPECT_EQ(value_of("c"), "(nil)");
}

TEST_F(FaultProxyTest, ARequestCutAfterReachesAServerThatStandsStill) {
    proxy_.on_request(on("SET", Verdict::cut_after));
    server_.pause();
    EXPECT_EQ(visitor_.ask({"SET", "key", "value"}), "end");
    server_.resume();
    EXPECT_TRUE(await_value("key", "value"));
}

TEST_F(FaultProxyTest, ARequestCanBeHeldAndOthersPassIt) {
    proxy_.on_request(on("SET", Verdict::hold));
    visitor_.say_together({{"SET", "a", "1"}, {"INCR", "a"}});
    EXPECT_TRUE(proxy_.await_requests(2));
    EXPECT_EQ(Visitor(proxy_.port()).ask({"GET", "a"}), "(nil)");
    EXPECT_EQ(visitor_.hear(moment), "silence");
    proxy_.let_pass();
    visitor_.expect_to_hear({"OK", "2"});
}

TEST_F(FaultProxyTest, AHeldRequestPassesAfterItsClientHasLeftAndAnotherHasCome) {
    server_.command({"CONFIG", "RESETSTAT"});
    proxy_.on_request(on("SETNX", Verdict::hold));
    visitor_.say({"SETNX", "key", "late"});
    EXPECT_TRUE(proxy_.await_requests(1));
    visitor_.leave();
    EXPECT_EQ(Visitor(proxy_.port()).ask({"SET", "key", "early"}), "OK");
    proxy_.pass();
    EXPECT_TRUE(await([&] {
        return server_.command({"INFO", "commandstats"}).find("cmdstat_setnx") != std::string::npos;
    }));
    EXPECT_EQ(value_of("key"), "early");
}

TEST_F(FaultProxyTest, AHookMayUseTheControls) {
    proxy_.on_request([&](std::string_view request) {
        if (words_of(request).front() == "SET") proxy_.black_hole();
        return Verdict::pass;
    });
    visitor_.say_together({{"SET", "a", "1"}, {"SET", "b", "1"}});
    EXPECT_TRUE(await_value("a", "1"));
    EXPECT_EQ(visitor_.hear(moment), "silence");
    EXPECT_EQ(value_of("b"), "(nil)");
    proxy_.pass();
    visitor_.expect_to_hear({"OK", "OK"});
}

TEST_F(FaultProxyTest, AHookMayLiftItself) {
    proxy_.on_request([&](std::string_view) {
        proxy_.pass();
        return Verdict::cut_before;
    });
    EXPECT_EQ(visitor_.ask({"INCR", "key"}), "end");
    EXPECT_EQ(Visitor(proxy_.port()).ask({"INCR", "key"}), "1");
}

// --- others ---

TEST_F(FaultProxyTest, PassesTlsAndDoesNotLookIntoIt) {
    const RedisServer server({.tls = true});
    FaultProxy proxy(server.tls_port());
    proxy.on_request([](std::string_view) { return Verdict::cut_before; });
    const std::string script = "exec openssl s_client -quiet -connect 127.0.0.1:\"$0\" 2>/dev/null";
    Child client({"sh", "-c", script, std::to_string(proxy.port())});
    EXPECT_EQ(client.ask("PING"), "+PONG\r");
    EXPECT_EQ(proxy.requests(), 0U);
    proxy.hold_requests();
    client.say("PING");
    EXPECT_EQ(client.hear(moment), std::nullopt);
    proxy.let_pass();
    EXPECT_EQ(client.hear(), "+PONG\r");
    proxy.cut();
    EXPECT_TRUE(client.ended());
}

TEST_F(FaultProxyTest, EndsWhateverIsGoingOn) {
    proxy_.hold_requests();
    visitor_.say({"INCR", "key"});
    std::optional<FaultProxy> other(server_.port());
    Visitor visitor(other->port());
    visitor.ask({"PING"});
    other->delay_replies(1h);
    visitor.say({"PING"});
    other->black_hole();
    other.reset();
    EXPECT_NE(visitor.hear(), "silence");
}

}  // namespace
}  // namespace holdfast::test
