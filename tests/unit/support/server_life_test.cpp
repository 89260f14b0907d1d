#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "servers/etcd_server.hpp"
#include "servers/redis_server.hpp"
#include "servers/zookeeper_server.hpp"
#include "support/suite.hpp"

/// What every server that tests start does: it is there, killed, restarted, paused and ended.
namespace holdfast::test {
namespace {

/// What differs: how a server is asked, what it keeps for its users, and what it cannot be told.
struct Redis {
    using Server = RedisServer;
    static RedisOptions wrong() { return {.settings = {"maxmemory a-lot", "port -1"}}; }
    static bool answers(const Server& server, std::chrono::milliseconds limit = patience) {
        const Socket socket = connect_to_port(server.port());
        limit_waiting(socket, limit);
        char answer = 0;
        return send_all(socket, "PING\r\n") && recv(socket.get(), &answer, 1, 0) == 1;
    }
    static void remember(const Server& server) { server.command({"SET", "key", "value"}); }
    static bool remembers(const Server& server) {
        return server.command({"GET", "key"}) == "value";
    }
    static constexpr bool keeps_data = true;
    static constexpr bool saves_at_once = false;
};

struct Zookeeper {
    using Server = ZookeeperServer;
    static ZookeeperOptions wrong() { return {.settings = {"tickTime=often"}}; }
    static bool answers(const Server& server, std::chrono::milliseconds limit = patience) {
        try {
            return server.ask("ruok", limit) == "imok";
        } catch (const std::runtime_error&) {
            return false;
        }
    }
    /// It has no client here.
    static void remember(const Server&) {}
    static bool remembers(const Server&) { return false; }
    static constexpr bool keeps_data = false;
    static constexpr bool saves_at_once = false;
};

struct Etcd {
    using Server = EtcdServer;
    static EtcdOptions wrong() { return {.flags = {"--max-txn-ops=many"}}; }
    static bool answers(const Server& server, std::chrono::milliseconds = patience) {
        return server.serves();
    }
    static void remember(const Server& server) { server.ctl({"put", "key", "value"}); }
    static bool remembers(const Server& server) {
        return server.ctl({"get", "key"}) == "key\nvalue";
    }
    static constexpr bool keeps_data = true;
    static constexpr bool saves_at_once = true;
};

template <class Kind>
class AServer : public testing::Test {
protected:
    using Server = typename Kind::Server;

    static bool exists(pid_t process) { return ::kill(process, 0) == 0; }
    static bool is_there_again(const Server& server) {
        return await([&] { return Kind::answers(server); });
    }
};
using Kinds = testing::Types<Redis, Zookeeper, Etcd>;
TYPED_TEST_SUITE(AServer, Kinds);

TYPED_TEST(AServer, ThatCannotBeWhatItIsToldIsAnErrorAtOnce) {
    try {
        const typename TypeParam::Server server(TypeParam::wrong());
        FAIL() << "started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("ended at once"), std::string::npos);
    }
}

TYPED_TEST(AServer, ThatIsKilledRefusesAndIsThereAgainOnTheSamePort) {
    typename TypeParam::Server server;
    const int port = server.port();
    TypeParam::remember(server);
    server.kill();
    server.kill();
    EXPECT_FALSE(connect_to_port(port));
    EXPECT_EQ(errno, ECONNREFUSED);
    EXPECT_FALSE(TypeParam::answers(server));
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_TRUE(TypeParam::answers(server));
    EXPECT_EQ(TypeParam::remembers(server), TypeParam::saves_at_once);
}

TYPED_TEST(AServer, ThatIsRestartedKeepsItsDataOrLosesThem) {
    typename TypeParam::Server server;
    const pid_t before = server.pid();
    TypeParam::remember(server);
    server.restart();
    EXPECT_NE(server.pid(), before);
    EXPECT_EQ(TypeParam::remembers(server), TypeParam::keeps_data);
    server.restart_empty();
    EXPECT_FALSE(TypeParam::remembers(server));
}

TYPED_TEST(AServer, ThatIsPausedIsSilentUntilItIsResumed) {
    const typename TypeParam::Server server;
    server.pause();
    EXPECT_TRUE(connect_to_port(server.port())) << "the kernel accepts for it";
    EXPECT_FALSE(TypeParam::answers(server, 50ms));
    server.resume();
    EXPECT_TRUE(this->is_there_again(server));
}

TYPED_TEST(AServer, ThatIsPausedCanBeRestartedAndEnded) {
    typename TypeParam::Server server;
    TypeParam::remember(server);
    server.pause();
    server.restart();
    EXPECT_TRUE(this->is_there_again(server));
    EXPECT_EQ(TypeParam::remembers(server), TypeParam::keeps_data);
    server.pause();
}

TYPED_TEST(AServer, OutlivesTheThreadThatStartedIt) {
    std::optional<typename TypeParam::Server> server;
    std::thread([&] { server.emplace(); }).join();
    EXPECT_TRUE(TypeParam::answers(*server));
    EXPECT_FALSE(await([&] { return !this->exists(server->pid()); }, 20ms));
}

TYPED_TEST(AServer, EndsWithItsObject) {
    pid_t process = 0;
    int port = 0;
    {
        const typename TypeParam::Server server;
        process = server.pid();
        port = server.port();
    }
    EXPECT_FALSE(this->exists(process));
    EXPECT_FALSE(connect_to_port(port));
}

TYPED_TEST(AServer, EndsWithAProcessThatIsKilledAndLeavesNothingBehind) {
    struct {
        int port = 0;
        char folder[200] = {};
    } told;
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t victim = fork();
    if (victim == 0) {
        const typename TypeParam::Server server;
        told.port = server.port();
        server.folder().string().copy(told.folder, sizeof told.folder - 1);
        if (write(pipes[1], &told, sizeof told) == sizeof told) raise(SIGKILL);
        _exit(1);
    }
    ASSERT_EQ(read(pipes[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
    EXPECT_EQ(waitpid(victim, nullptr, 0), victim);
    EXPECT_TRUE(await([&] { return !connect_to_port(told.port); }));
    EXPECT_TRUE(await([&] { return !std::filesystem::exists(told.folder); }));
    close(pipes[0]);
    close(pipes[1]);
}

TYPED_TEST(AServer, ThatIsSharedIsOneAndAForkedChildLeavesItAlone) {
    const auto& server = TypeParam::Server::shared();
    std::fflush(nullptr);  // or what is buffered is written by both
    const pid_t child = fork();
    if (child == 0) {
        TypeParam::remember(TypeParam::Server::shared());
        std::exit(TypeParam::answers(TypeParam::Server::shared()) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(TypeParam::answers(server));
    EXPECT_EQ(TypeParam::remembers(server), TypeParam::keeps_data);
}

/// Whether a handshake with these arguments of `openssl s_client` comes about.
bool shakes_hands(const ServerProcess& server, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "sh",
        "-c",
        "exec openssl s_client -verify_return_error -brief \"$@\" 2>&1 </dev/null",
        "sh",
        "-connect",
        "127.0.0.1:" + std::to_string(server.tls_port())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Child client(arguments);
    while (const auto line = client.hear()) {
        if (*line == "CONNECTION ESTABLISHED") return true;
    }
    return false;
}

TYPED_TEST(AServer, SpeaksTlsWithACertificateForThisMachine) {
    const typename TypeParam::Server server({.tls = true});
    const std::string authority = certificates().authority.certificate;
    EXPECT_TRUE(shakes_hands(server, {"-CAfile", authority, "-verify_ip", "127.0.0.1"}));
    EXPECT_TRUE(shakes_hands(server, {"-CAfile", authority, "-verify_hostname", "localhost"}));
    EXPECT_FALSE(shakes_hands(server, {"-CAfile", authority, "-verify_hostname", "else.where"}));
    EXPECT_FALSE(shakes_hands(server, {"-CAfile", certificates().other_authority.certificate}));
    EXPECT_TRUE(TypeParam::answers(server)) << "and without TLS on the other port";
    const std::string secure = "s://127.0.0.1:" + std::to_string(server.tls_port());
    EXPECT_TRUE(server.tls_url().ends_with(secure + "?tls_ca=" + authority));
}

}  // namespace
}  // namespace holdfast::test
