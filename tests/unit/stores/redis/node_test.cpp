#include "stores/redis/node.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <mutex>
#include <thread>
#include <utility>

#include "support/await.hpp"
#include "support/loopback.hpp"
#include "support/resp.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::redis {
namespace {

using test::await;

/// Answers as far as the test lets it, and on the test's own thread.
class Server {
public:
    Address address() const {
        Address address;
        address.host = "127.0.0.1";
        address.port = static_cast<std::uint16_t>(port_.number());
        address.replicas = Replicas::one;
        return address;
    }

    /// Each connection leads to another process.
    void be_several() { several_ = true; }
    /// To so many of those that ask replicas.
    void be_busy_for(int rounds) { busy_rounds_ = rounds; }
    /// From here on nobody who comes is told anything.
    void be_silent_from(std::size_t connection) { silent_from_ = connection; }
    void serve() {
        while (test::Socket made = test::accept_from(listener_))
            peers_.push_back({std::move(made)});
        for (std::size_t i = 0; i < std::min(peers_.size(), silent_from_); ++i) answer(i);
    }
    std::size_t connections() const { return peers_.size(); }
    std::size_t answers_on(std::size_t connection) const {
        return connection < peers_.size() ? peers_[connection].answers : 0;
    }
    void cut(std::size_t connection) { peers_[connection].socket.close(); }
    void cut_all() {
        for (Peer& peer : peers_) peer.socket.close();
    }

private:
    struct Peer {
        test::Socket socket;
        std::string input = {};
        std::size_t answers = 0;
    };

    void answer(std::size_t connection) {
        Peer& peer = peers_[connection];
        char bytes[4096];
        const ssize_t count = recv(peer.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (count > 0) peer.input.append(bytes, static_cast<std::size_t>(count));
        if (count == 0) peer.socket.close();
        std::string_view rest = peer.input;
        while (const auto request = test::read_resp(rest)) {
            test::send_all(peer.socket, answer_to(*request, several_ ? connection : 0));
            ++peer.answers;
        }
        peer.input.erase(0, peer.input.size() - rest.size());
    }
    static std::string bulk(const std::string& text) {
        return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    std::string answer_to(const test::Resp& request, std::size_t process) {
        const std::string& verb = request.parts.at(0).text;
        if (verb == "HOLD") return ":7\r\n";
        if (verb == "WAIT") return ":1\r\n";
        if (verb == "EVAL" && busy_rounds_ > 0) {
            --busy_rounds_;
            return "-BUSY Redis is busy running a script\r\n";
        }
        if (verb == "INFO") return bulk("run_id:" + std::to_string(process));
        if (verb == "ECHO") return "+" + request.parts.at(1).text + "\r\n";
        return "+OK\r\n";
    }

    test::LoopbackPort port_;
    test::Socket listener_ = test::listen_on(port_.number());
    bool several_ = false;
    int busy_rounds_ = 0;
    std::size_t silent_from_ = 1000;
    std::vector<Peer> peers_;
};

class ANode : public testing::Test {
protected:
    static constexpr std::size_t greeting = 2;

    /// What makes somebody a holder, and is to be confirmed.
    void submit_hold() {
        auto request = std::make_unique<Request>(
            std::move(Command{"HOLD"}.with_standings(3)),
            [this](const Answer& answer) {
                answer.result.ok() && !answer.repeated ? ++answered_ : ++failed_;
            },
            BootClock::now() + test::patience);
        request->number = ++submitted_;
        node_.submit(std::move(request));
    }
    void submit(const std::string& word, std::chrono::milliseconds limit = test::patience) {
        auto request = std::make_unique<Request>(
            Command{"ECHO", word},
            [this, word](const Answer& answer) {
                answer.result.ok() ? ++answered_ : ++failed_;
                if (!answer.result.ok()) {
                    why_not_ = answer.result.failure().sentence;
                } else {
                    EXPECT_EQ(answer.result.value().text, word);
                }
            },
            BootClock::now() + limit);
        request->number = ++submitted_;
        node_.submit(std::move(request));
    }
    /// As whoever leads does, but that nothing is waited for.
    void lead() {
        Due due;
        node_.serve(BootClock::now(), listening_, due);
        auto polled = descriptors();
        poll(polled.data(), polled.size(), 0);
        node_.read(polled);
        std::vector<Node::TurnedAway> away;
        node_.take_answers(due, away);
        for (const auto& told : due) told();
    }
    /// The same, where memory may be out. What is told is told all the same.
    void lead_with(test::ScarceMemory& memory) {
        Due due;
        std::vector<Node::TurnedAway> away;
        std::vector<pollfd> polled;
        polled.reserve(Node::polled);
        Node::Lock lock(mutex_);
        const bool served = memory.run([&] {
            node_.serve(BootClock::now(), listening_, due);
            node_.flush(lock);
            node_.poll_for(polled);
        });
        if (served) {
            poll(polled.data(), polled.size(), 0);
            memory.run([&] {
                node_.read(polled);
                node_.take_answers(due, away);
                node_.flush(lock);
            });
        }
        for (const auto& told : due) told();
    }
    /// Somebody who is to be told his own word, and one who is to hold.
    void submit_all(const std::string& about) {
        for (const char* which : {"first", "second", "third"}) {
            submit(std::string("the word of the ") + which + " who asked " + about);
        }
        auto hold = std::make_unique<Request>(
            std::move(Command{"HOLD"}.with_standings(3)),
            [this](const Answer& answer) {
                ASSERT_TRUE(answer.result.ok()) << answer.result.failure().sentence;
                EXPECT_EQ(answer.result.value().integer, 7);
                ++answered_;
            },
            BootClock::now() + test::patience);
        hold->number = ++submitted_;
        node_.submit(std::move(hold));
    }
    [[nodiscard]] bool await_all(test::ScarceMemory& memory) {
        return await(
            [&] {
                server_.serve();
                lead_with(memory);
                return static_cast<std::uint64_t>(answered_) == submitted_;
            },
            std::chrono::seconds{5});
    }
    std::vector<pollfd> descriptors() const {
        std::vector<pollfd> polled;
        node_.poll_for(polled);
        return polled;
    }
    bool has_a_connection() const { return descriptors().front().fd >= 0; }
    template <class Condition>
    [[nodiscard]] bool await_turns(Condition condition) {
        return await([&] {
            server_.serve();
            lead();
            return condition();
        });
    }

    using Due = Node::Due;
    Server server_;
    std::mutex mutex_;
    Node node_{server_.address(), {}, Node::Part::any, [] {}};
    Listening listening_;
    std::uint64_t submitted_ = 0;
    int answered_ = 0;
    int failed_ = 0;
    std::string why_not_;
};

/// The one for requests is there before the one that asks replicas, and goes again with it.
TEST_F(ANode, GivesNobodyTheAnswerOfAnotherWhenOneOfItsTwoConnectionsIsNotMade) {
    std::jthread sender([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            Node::Lock lock(mutex_);
            if (node_.is_idle()) submit(std::to_string(submitted_));
            if (node_.may_send()) node_.flush(lock);
        }
    });
    Node::Lock lock(mutex_, std::defer_lock);
    // Without a pause: it is to be met while its bytes are with the kernel, and the lock is open.
    for (const Moment end = BootClock::now() + test::patience; BootClock::now() < end;) {
        lock.lock();
        if (node_.is_pouring()) break;
        server_.serve();
        lead();
        lock.unlock();
    }
    ASSERT_TRUE(lock.owns_lock());
    server_.be_silent_from(3);
    Due due;
    node_.lost(BootClock::now(), due);
    ASSERT_TRUE(await_turns(
        [&] { return server_.connections() == 4 && server_.answers_on(2) == greeting; }));
    lead();
    sender.request_stop();
    lock.unlock();
    sender.join();
    server_.cut(3);
    ASSERT_TRUE(await([&] {
        lead();
        return !has_a_connection();
    }));
    server_.be_silent_from(1000);
    const int before = answered_;
    submit("next");
    EXPECT_TRUE(await_turns([&] {
        lock.lock();
        if (node_.may_send()) node_.flush(lock);
        lock.unlock();
        return answered_ == before + 2;
    }));
    EXPECT_EQ(failed_, 0);
}

TEST_F(ANode, AsksForConfirmationAgainWhenTheServerHadNoTimeForThat) {
    server_.be_busy_for(2);
    submit_hold();
    Node::Lock lock(mutex_);
    EXPECT_TRUE(await_turns([&] {
        node_.flush(lock);
        return answered_ == 1;
    }));
    EXPECT_EQ(server_.connections(), 2U);
    EXPECT_EQ(failed_, 0);
}

/// Whoever leads ends with the exception, and the next one goes on. What it has left half done is
/// nobody's answer.
TEST_F(ANode, TellsEverybodyTheirOwnAnswerWhicheverAllocationFails) {
    server_.be_silent_from(100'000);
    std::size_t number = 1;
    for (;; ++number) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        test::ScarceMemory scarce(number);
        submit_all("quietly");
        ASSERT_TRUE(await_all(scarce));
        test::ScarceMemory scarcer(number);
        test::ScarceMemory enough(0);
        submit_all("and was cut off");
        lead_with(enough);
        server_.cut_all();
        ASSERT_TRUE(await_all(scarcer));
        if (!scarce.has_failed() && !scarcer.has_failed()) break;
    }
    EXPECT_GT(number, 10U) << "hardly any was made";
    EXPECT_EQ(failed_, 0) << why_not_;
}

/// Behind one address there may be several: then one would be asked what another one has.
TEST_F(ANode, SendsNothingWhereItsTwoConnectionsLeadToTwoProcesses) {
    server_.be_several();
    submit("in vain", std::chrono::milliseconds{200});
    ASSERT_TRUE(await_turns([&] { return failed_ == 1; }));
    EXPECT_NE(why_not_.find("lead to two servers"), std::string::npos) << why_not_;
    for (std::size_t i = 0; i < server_.connections(); ++i) {
        EXPECT_LE(server_.answers_on(i), greeting);
    }
}

}  // namespace
}  // namespace holdfast::redis
