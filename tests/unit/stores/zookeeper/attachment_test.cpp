#include "stores/zookeeper/attachment.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "support/await.hpp"
#include "support/loopback.hpp"
#include "unit/scarce_memory.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

/// Grants a session to all who come, and answers to what it is asked with that itself.
class Echo {
public:
    Ensemble ensemble() const {
        Ensemble ensemble;
        ensemble.servers.push_back({.kind = "zookeeper",
                                    .host = "127.0.0.1",
                                    .port = static_cast<std::uint16_t>(port_.number())});
        return ensemble;
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
        FrameReader input = {};
        bool greeted = false;
    };

    static void answer(Peer& peer) {
        char bytes[4096];
        const ssize_t count = recv(peer.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0) return peer.socket.close();
        if (count > 0) peer.input.feed({bytes, static_cast<std::size_t>(count)});
        while (const auto request = peer.input.next()) {
            std::string frame;
            append_frame(frame,
                         std::exchange(peer.greeted, true) ? answer_to(*request) : session());
            test::send_all(peer.socket, frame);
        }
    }
    static std::string session() {
        RecordWriter record;
        record.number(0).number(60'000).long_number(42).text("0123456789abcdef").flag(false);
        return std::move(record).take();
    }
    static std::string answer_to(const std::string& request) {
        RecordReader asked(request);
        RecordWriter record;
        record.number(asked.number()).long_number(7).number(0);
        return std::move(record).take() + std::string(asked.rest());
    }

    test::LoopbackPort port_;
    test::Socket listener_ = test::listen_on(port_.number());
    std::vector<Peer> peers_;
};

class AnAttachment : public testing::Test {
protected:
    void submit(const std::string& path) {
        ++asked_;
        Attachment::Lock lock(mutex_);
        attachment_.submit(lock, {.operations = {look_at_node(path, Watching::no)}},
                           [this, path](const Answer& answer) {
                               ++told_;
                               ASSERT_TRUE(answer.result.ok()) << answer.result.failure().sentence;
                               const std::string& record = answer.result.value().at(0).record;
                               EXPECT_NE(record.find(path), std::string::npos) << record;
                           });
    }
    void submit_all() {
        for (const char* path : {"/the/first/of/them", "/the/second/of/them", "/third"}) {
            submit(path);
        }
    }
    /// As whoever leads, where memory may be out. What is told is told all the same.
    void lead_with(test::ScarceMemory& memory) {
        Attachment::Due due;
        Attachment::Lock lock(mutex_);
        const bool served = memory.run([&] { attachment_.serve(lock, due); });
        pollfd polled = attachment_.awaited();
        if (served && poll(&polled, 1, 0) > 0) {
            memory.run([&] {
                const auto arrival = attachment_.read();
                attachment_.take(arrival, due);
                attachment_.serve(lock, due);
            });
        }
        lock.unlock();
        for (const auto& told : due) told();
    }
    [[nodiscard]] bool await_all(test::ScarceMemory& memory) {
        return test::await(
            [&] {
                echo_.serve();
                lead_with(memory);
                return told_ == asked_;
            },
            5s);
    }

    Echo echo_;
    const Ensemble ensemble_ = echo_.ensemble();
    std::mutex mutex_;
    const test::Socket rung_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    Attachment attachment_{ensemble_, 60s, net::Bell(rung_.get()), {}};
    int asked_ = 0;
    int told_ = 0;
};

/// Whoever leads ends with the exception, and the next one goes on. What it has left half done is
/// nobody's answer.
TEST_F(AnAttachment, TellsEverybodyTheirOwnAnswerWhicheverAllocationFails) {
    std::size_t number = 1;
    for (;; ++number) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        test::ScarceMemory scarce(number);
        submit_all();
        ASSERT_TRUE(await_all(scarce));
        test::ScarceMemory scarcer(number);
        submit_all();
        echo_.cut_all();
        ASSERT_TRUE(await_all(scarcer));
        if (!scarce.has_failed() && !scarcer.has_failed()) break;
    }
    EXPECT_GT(number, 10U) << "hardly any was made";
}

}  // namespace
}  // namespace holdfast::zookeeper
