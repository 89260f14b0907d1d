#include "servers/zookeeper_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "support/await.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

bool exists(pid_t process) {
    return ::kill(process, 0) == 0;
}

bool shakes_hands(const ZookeeperServer& server, const std::vector<std::string>& more) {
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

TEST(ZookeeperServer, ServesWhenItIsThere) {
    const ZookeeperServer server;
    EXPECT_EQ(server.mode(), "standalone");
    EXPECT_EQ(server.ask("ruok"), "imok");
    EXPECT_EQ(server.measured("ephemerals_count"), 0);
    EXPECT_THROW(static_cast<void>(server.measured("nonsense")), std::runtime_error);
    EXPECT_EQ(server.url(), "zookeeper://" + server.address());
}

TEST(ZookeeperServer, ASettingIsHeeded) {
    const ZookeeperServer server({.settings = {"maxSessionTimeout=2000", "tickTime=300"}});
    const std::string configuration = server.ask("conf");
    EXPECT_NE(configuration.find("maxSessionTimeout=2000\n"), std::string::npos);
    EXPECT_NE(configuration.find("tickTime=300\n"), std::string::npos);
}

TEST(ZookeeperServer, AWrongSettingIsAnErrorAtOnce) {
    try {
        const ZookeeperServer server({.settings = {"tickTime=often"}});
        FAIL() << "started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("ended at once"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("often"), std::string::npos);
    }
}

TEST(ZookeeperServer, HowOftenContainersAreReapedIsHeeded) {
    const ZookeeperServer server({.reaps_every = 70ms});
    const auto said = [&] { return server.log().find("checkIntervalMs=70 ") != std::string::npos; };
    EXPECT_TRUE(await(said)) << server.log();
}

TEST(ZookeeperServer, AKilledOneRefusesAndIsThereAgainOnTheSamePort) {
    ZookeeperServer server;
    const int port = server.port();
    server.kill();
    server.kill();
    EXPECT_FALSE(connect_to_port(port));
    EXPECT_EQ(server.mode(), "");
    EXPECT_THROW(static_cast<void>(server.ask("ruok")), std::runtime_error);
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(server.ask("ruok"), "imok");
}

TEST(ZookeeperServer, APausedOneIsSilentUntilItIsResumed) {
    const ZookeeperServer server;
    server.pause();
    EXPECT_TRUE(connect_to_port(server.port())) << "the kernel accepts for it";
    EXPECT_THROW(static_cast<void>(server.ask("ruok", 50ms)), std::runtime_error);
    server.resume();
    EXPECT_EQ(server.ask("ruok"), "imok");
}

TEST(ZookeeperServer, APausedOneCanBeRestartedAndEnded) {
    ZookeeperServer server;
    server.pause();
    server.restart();
    EXPECT_EQ(server.ask("ruok"), "imok");
    server.pause();
}

TEST(ZookeeperServer, EndsWithItsObject) {
    pid_t process = 0;
    int port = 0;
    {
        const ZookeeperServer server;
        process = server.pid();
        port = server.port();
    }
    EXPECT_FALSE(exists(process));
    EXPECT_FALSE(connect_to_port(port));
}

TEST(ZookeeperServer, EndsWithAProcessThatIsKilled) {
    int told_port = 0;
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t victim = fork();
    if (victim == 0) {
        const ZookeeperServer server;
        const int port = server.port();
        if (write(pipes[1], &port, sizeof port) == sizeof port) raise(SIGKILL);
        _exit(1);
    }
    ASSERT_EQ(read(pipes[0], &told_port, sizeof told_port), static_cast<ssize_t>(sizeof told_port));
    EXPECT_EQ(waitpid(victim, nullptr, 0), victim);
    EXPECT_TRUE(await([&] { return !connect_to_port(told_port); }));
    close(pipes[0]);
    close(pipes[1]);
}

TEST(ZookeeperServer, TheSharedOneIsOneAndAForkedChildLeavesItAlone) {
    const ZookeeperServer& server = ZookeeperServer::shared();
    std::fflush(nullptr);  // or what is buffered is written by both
    const pid_t child = fork();
    if (child == 0) std::exit(ZookeeperServer::shared().ask("ruok") != "imok");
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(server.ask("ruok"), "imok");
}

TEST(ZookeeperServer, SpeaksTlsWithACertificateForThisMachine) {
    const ZookeeperServer server({.tls = true});
    const std::string authority = certificates().authority.certificate;
    EXPECT_TRUE(shakes_hands(server, {"-CAfile", authority, "-verify_ip", "127.0.0.1"}));
    EXPECT_FALSE(shakes_hands(server, {"-CAfile", certificates().other_authority.certificate}));
    EXPECT_EQ(server.ask("ruok"), "imok") << "and without TLS on the other port";
}

}  // namespace
}  // namespace holdfast::test
