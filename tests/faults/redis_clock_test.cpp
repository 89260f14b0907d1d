#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/holdfast.hpp>

#include "servers/redis_server.hpp"
#include "support/await.hpp"
#include "support/temporary_folder.hpp"

/// A server whose clock is set while locks are held.
namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

struct Notes final : Observer {
    void store_failed(std::string_view sentence) override {
        const std::lock_guard guard(mutex);
        sentences.emplace_back(sentence);
    }
    bool contain(std::string_view words) {
        const std::lock_guard guard(mutex);
        for (const auto& one : sentences) {
            if (one.find(words) != std::string::npos) return true;
        }
        return false;
    }
    std::mutex mutex;
    std::vector<std::string> sentences;
};

class RedisClock : public testing::TestWithParam<const char*> {
protected:
    void set_ahead(int seconds) const {
        std::ofstream(folder_.path() / "new") << seconds;
        std::filesystem::rename(folder_.path() / "new", clock_);
    }
    Client client() { return connect(server_.url() + GetParam(), {.observer = notes_}); }

    TemporaryFolder folder_;
    const std::filesystem::path clock_ = folder_.path() / "ahead";
    RedisServer server_{{.under = {"env", "LD_PRELOAD=" HOLDFAST_TEST_WRONG_CLOCK,
                                   "HOLDFAST_TEST_CLOCK=" + clock_.string()}}};
    std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
};

TEST_P(RedisClock, SetForwardEndsALongLeaseAtOnceAndIsTold) {
    const auto here = client();
    const auto brief = here.mutex("brief", {.lease = 2s}).acquire();
    const auto lasting = here.mutex("lasting", {.lease = 10min}).acquire();
    // A renewal says what the clock was before.
    ASSERT_TRUE(await([&] { return brief.remaining() > 1300ms; }));
    ASSERT_TRUE(await([&] { return brief.remaining() < 1300ms; }));
    ASSERT_TRUE(await([&] { return brief.remaining() > 1300ms; }));
    set_ahead(3600);
    EXPECT_TRUE(await([&] { return lasting.lost().stop_requested(); }))
        << "by its own renewal it would be told after three minutes";
    EXPECT_EQ(lasting.loss(), Loss::ended);
    EXPECT_TRUE(await([&] { return notes_->contain("the server's clock went forward by 3"); }));
}

TEST_P(RedisClock, SetBackIsTold) {
    const auto here = client();
    set_ahead(3600);
    const auto brief = here.mutex("brief", {.lease = 2s}).acquire();
    ASSERT_TRUE(await([&] { return brief.remaining() < 1300ms; }));
    ASSERT_TRUE(await([&] { return brief.remaining() > 1300ms; }));
    set_ahead(0);
    EXPECT_TRUE(await([&] { return notes_->contain("the server's clock went back by 3"); }));
    EXPECT_TRUE(brief.held());
}

INSTANTIATE_TEST_SUITE_P(Layouts, RedisClock,
                         testing::Values("", "?layout=plain", "?layout=redisson"),
                         [](const auto& one) {
                             const std::string layout = one.param;
                             return layout.empty() ? "Ours" : layout.substr(layout.find('=') + 1);
                         });

}  // namespace
}  // namespace holdfast::test
