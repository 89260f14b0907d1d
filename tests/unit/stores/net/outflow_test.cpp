#include "stores/net/outflow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>

namespace holdfast::inline v0::net {
namespace {

/// Takes as many bytes as the test lets it.
class Pipe final : public Socket {
public:
    Transfer establish() override { return {}; }
    Transfer read(char*, std::size_t) override { return {.outcome = Outcome::would_block}; }
    Transfer write(std::string_view bytes) override {
        while_writing();
        const std::size_t count = std::min(room, bytes.size());
        room -= count;
        taken.append(bytes.substr(0, count));
        if (count > 0) return {.bytes = count};
        return {.outcome = broken ? Outcome::failed : Outcome::would_block};
    }
    short wanted() const noexcept override { return 0; }
    int descriptor() const noexcept override { return -1; }
    void shut_down() noexcept override { is_shut_down = true; }

    std::size_t room = 1000;
    bool broken = false;
    bool is_shut_down = false;
    std::string taken;
    std::function<void()> while_writing = [] {};
};

/// A connection whose pipe the test replaces.
struct Link {
    bool ready() const { return pipe != nullptr; }
    const std::shared_ptr<Pipe>& socket() const { return pipe; }
    std::shared_ptr<Pipe> pipe = std::make_shared<Pipe>();
};

class AnOutflow : public testing::Test {
protected:
    void pour() {
        std::unique_lock lock(mutex_);
        outflow_.pour(lock, link_,
                      [this](std::string& bytes) { bytes += std::exchange(waiting_, {}); });
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(outflow_.is_pouring());
    }

    std::mutex mutex_;
    Link link_;
    std::string waiting_;
    Outflow outflow_;
};

TEST_F(AnOutflow, TakesAlongWhatOthersWantToSendMeanwhile) {
    waiting_ = "first ";
    link_.pipe->while_writing = [this] {
        const std::lock_guard guard(mutex_);
        EXPECT_TRUE(outflow_.is_pouring()) << "so the other one only leaves it";
        if (link_.pipe->taken.empty()) waiting_ = "second";
    };
    pour();
    EXPECT_EQ(link_.pipe->taken, "first second");
    EXPECT_TRUE(outflow_.empty());
}

TEST_F(AnOutflow, KeepsWhatTheSocketHasNoRoomFor) {
    waiting_ = "request";
    link_.pipe->room = 3;
    pour();
    EXPECT_TRUE(outflow_.wants_room());
    EXPECT_FALSE(link_.pipe->is_shut_down);
    link_.pipe->room = 1000;
    pour();
    EXPECT_EQ(link_.pipe->taken, "request");
    EXPECT_FALSE(outflow_.wants_room());
}

TEST_F(AnOutflow, SendsNothingOfALostConnectionByTheNext) {
    waiting_ = "by the old one";
    const auto old = link_.pipe;
    const auto next = std::make_shared<Pipe>();
    old->while_writing = [&] {
        const std::lock_guard guard(mutex_);
        outflow_.clear();
        link_.pipe = next;
        waiting_ = "again";
    };
    old->room = 6;
    pour();
    EXPECT_EQ(next->taken, "again");
    EXPECT_TRUE(outflow_.empty());
}

/// Half a request may stand in it, and the server would take the next one for the rest.
TEST_F(AnOutflow, SendsNothingMoreByAConnectionForWhichEncodingFailed) {
    std::unique_lock lock(mutex_);
    outflow_.pour(lock, link_, [](std::string& bytes) {
        bytes += "hal";
        throw std::bad_alloc();
    });
    EXPECT_TRUE(lock.owns_lock());
    lock.unlock();
    EXPECT_TRUE(outflow_.is_torn());
    EXPECT_FALSE(outflow_.wants_room());
    waiting_ = "request";
    pour();
    EXPECT_EQ(link_.pipe->taken, "");
    outflow_.clear();
    pour();
    EXPECT_EQ(link_.pipe->taken, "request");
}

TEST_F(AnOutflow, EndsAConnectionThatFails) {
    waiting_ = "request";
    link_.pipe->room = 0;
    link_.pipe->broken = true;
    pour();
    EXPECT_TRUE(link_.pipe->is_shut_down) << "so that whoever reads finds out";
}

}  // namespace
}  // namespace holdfast::inline v0::net
