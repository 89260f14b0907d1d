#include "servers/etcd_server.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <stdexcept>

#include "support/await.hpp"

namespace holdfast::test {
namespace {

TEST(EtcdServer, ServesWhenItIsThere) {
    const EtcdServer server;
    EXPECT_TRUE(server.serves());
    EXPECT_TRUE(server.leads());
    EXPECT_EQ(server.ctl({"put", "key", "value"}), "OK");
    EXPECT_EQ(server.ctl({"get", "key"}), "key\nvalue");
    EXPECT_GE(server.counted("etcdserverpb.KV", "Put"), 1);
    EXPECT_EQ(server.counted("etcdserverpb.Lease", "LeaseGrant"), 0);
    EXPECT_THROW(static_cast<void>(server.measured("nonsense")), std::runtime_error);
    EXPECT_THROW(static_cast<void>(server.ctl({"nonsense"})), std::runtime_error);
    EXPECT_EQ(server.url(), "etcd://" + server.address());
}

TEST(EtcdServer, ALeaseCanBeAsShortAsASecond) {
    const EtcdServer server;
    EXPECT_NE(server.ctl({"lease", "grant", "1"}).find("TTL(1s)"), std::string::npos);
}

TEST(EtcdServer, AWrongFlagIsAnErrorAtOnce) {
    EXPECT_THROW(const EtcdServer server({.flags = {"--max-txn-ops=many"}}), std::runtime_error);
}

TEST(EtcdServer, AKilledOneRefusesAndIsThereAgainOnTheSamePortWithItsData) {
    EtcdServer server;
    const int port = server.port();
    server.ctl({"put", "key", "value"});
    server.kill();
    server.kill();
    EXPECT_FALSE(connect_to_port(port));
    EXPECT_FALSE(server.serves());
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(server.ctl({"get", "key"}), "key\nvalue");
    server.restart_empty();
    EXPECT_EQ(server.ctl({"get", "key"}), "");
}

TEST(EtcdServer, APausedOneIsSilentUntilItIsResumed) {
    const EtcdServer server;
    server.pause();
    EXPECT_TRUE(connect_to_port(server.port())) << "the kernel accepts for it";
    EXPECT_FALSE(server.serves());
    server.resume();
    EXPECT_TRUE(await([&] { return server.serves(); }));
}

TEST(EtcdServer, EndsWithAProcessThatIsKilled) {
    int told_port = 0;
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t victim = fork();
    if (victim == 0) {
        const EtcdServer server;
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

TEST(EtcdServer, SpeaksTlsWithACertificateForThisMachine) {
    const EtcdServer server({.tls = true, .client_certificates = true});
    const std::string endpoint =
        "--endpoints=https://127.0.0.1:" + std::to_string(server.tls_port());
    const std::string authority = "--cacert=" + certificates().authority.certificate.string();
    EXPECT_EQ(
        server.ctl({endpoint, authority, "--cert=" + certificates().client.certificate.string(),
                    "--key=" + certificates().client.key.string(), "put", "key", "value"}),
        "OK");
    EXPECT_EQ(server.ctl({"get", "key"}), "key\nvalue") << "and without TLS on the other port";
    EXPECT_THROW(static_cast<void>(server.ctl({endpoint, authority, "--command-timeout=1s",
                                               "--dial-timeout=1s", "get", "key"})),
                 std::runtime_error);
}

}  // namespace
}  // namespace holdfast::test
