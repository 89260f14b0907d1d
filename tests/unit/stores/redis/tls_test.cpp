#include "stores/net/socket.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <thread>

#include "port/store_url.hpp"
#include "servers/redis_server.hpp"
#include "stores/redis/redis_store.hpp"
#include "support/await.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using test::await;
using test::RedisServer;

class Tls : public testing::Test {
protected:
    RedisServer server_{{.tls = true}};
    std::shared_ptr<Store> store_ = open_redis(parse_store_url(server_.tls_url()));

    bool answers() { return store_->inspect("x").get().ok(); }
};

TEST_F(Tls, IsNotConfusedByAnErrorThatTheCallersThreadLeftBehind) {
    server_.command({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < 20; ++i) {
        // As a program that uses OpenSSL for other things may do.
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_DATA_RETURNED_BY_CALLBACK);
        ASSERT_TRUE(answers());
    }
    ERR_clear_error();
    EXPECT_NE(server_.command({"INFO", "stats"}).find("total_connections_received:1\r"),
              std::string::npos)
        << "the one that asks this";
}

TEST_F(Tls, SurvivesWritingToAServerThatIsGone) {
    ASSERT_TRUE(answers());
    for (int i = 0; i < 5; ++i) {
        server_.kill();
        // The first finds the connection closed and may still be taken by the kernel, the others
        // are not: none of them may raise SIGPIPE.
        std::vector<Pending<std::vector<Line>>> pending;
        for (int j = 0; j < 5; ++j) {
            pending.push_back(store_->inspect("x"));
            std::this_thread::sleep_for(1ms);
        }
        server_.restart();
        for (auto& one : pending) static_cast<void>(std::move(one).get());
        EXPECT_TRUE(await([&] { return answers(); }));
    }
}

}  // namespace
}  // namespace holdfast::redis
