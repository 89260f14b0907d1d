#include "stores/memcached/server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/await.hpp"
#include "support/loopback.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::memcached {
namespace {

using namespace std::chrono_literals;

/// Has of each key that begins with an i an item, whose value is the key.
class Cache {
public:
    net::Address address() const {
        return {.kind = "memcached",
                .host = "127.0.0.1",
                .port = static_cast<std::uint16_t>(port_.number())};
    }
    void serve() {
        while (test::Socket made = test::accept_from(listener_)) {
            peers_.push_back({std::move(made)});
        }
        for (Peer& peer : peers_) answer(peer);
        std::erase_if(peers_, [](const Peer& peer) { return !peer.socket; });
    }
    void cut_all() { peers_.clear(); }

private:
    struct Peer {
        test::Socket socket;
        std::string input = {};
    };

    static void answer(Peer& peer) {
        char bytes[4096];
        const ssize_t count = recv(peer.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0) return peer.socket.close();
        if (count > 0) peer.input.append(bytes, static_cast<std::size_t>(count));
        for (std::size_t end = 0; (end = peer.input.find("\r\n")) != std::string::npos;) {
            test::send_all(peer.socket, answer_to(peer.input.substr(0, end)));
            peer.input.erase(0, end + 2);
        }
    }
    static std::string answer_to(const std::string& line) {
        if (line == "version") return "VERSION 1.6.18\r\n";
        const std::string key = line.substr(3, line.find(' ', 3) - 3);
        if (key.front() != 'i') return "EN\r\n";
        const std::string number = line.substr(line.rfind(' ') + 1);
        return "VA " + std::to_string(key.size()) + " c1 t60 " + number + "\r\n" + key + "\r\n";
    }

    test::LoopbackPort port_;
    test::Socket listener_ = test::listen_on(port_.number());
    std::vector<Peer> peers_;
};

class AServer : public testing::Test {
protected:
    void look(const std::string& key) {
        ++asked_;
        server_.submit(std::make_unique<Request>(
            Command::look(key), 0,
            [this, key](const Answer& answer) {
                ++told_;
                ASSERT_TRUE(answer.result.ok()) << answer.result.failure().sentence;
                EXPECT_EQ(answer.result.value().text, key.front() == 'i' ? key : "");
            },
            BootClock::now() + test::patience));
    }
    /// A miss does not say what it answers.
    void look_for_all() {
        for (const char* key : {"missing/the/first/of/them", "item/the/first/of/them",
                                "missing/the/second", "missing/the/third", "item/the/second"}) {
            look(key);
        }
    }
    /// As whoever leads, where memory may be out. What is told is told all the same.
    void lead_with(test::ScarceMemory& memory) {
        Server::Due due;
        Server::Lock lock(mutex_);
        const bool served = memory.run([&] {
            server_.serve(BootClock::now(), due);
            server_.flush(lock);
        });
        pollfd polled = server_.awaited();
        if (served) {
            poll(&polled, 1, 0);
            memory.run([&] {
                server_.read(polled.revents);
                server_.take(due);
                server_.flush(lock);
            });
        }
        for (const auto& told : due) told();
    }
    [[nodiscard]] bool await_all(test::ScarceMemory& memory) {
        return test::await(
            [&] {
                cache_.serve();
                lead_with(memory);
                return told_ == asked_;
            },
            5s);
    }

    Cache cache_;
    std::mutex mutex_;
    const net::User nobody_ = {};
    Server server_{cache_.address(), nobody_, [] {}};
    int asked_ = 0;
    int told_ = 0;
};

/// Whoever leads ends with the exception, and the next one goes on. What it has left half done is
/// nobody's answer.
TEST_F(AServer, TellsEverybodyTheirOwnAnswerWhicheverAllocationFails) {
    std::size_t number = 1;
    for (;; ++number) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        test::ScarceMemory scarce(number);
        look_for_all();
        ASSERT_TRUE(await_all(scarce));
        test::ScarceMemory scarcer(number);
        test::ScarceMemory enough(0);
        look_for_all();
        lead_with(enough);
        cache_.cut_all();
        ASSERT_TRUE(await_all(scarcer));
        if (!scarce.has_failed() && !scarcer.has_failed()) break;
    }
    EXPECT_GT(number, 10U) << "hardly any was made";
}

}  // namespace
}  // namespace holdfast::memcached
