#include "servers/redis_server.hpp"

#include <sys/socket.h>

#include "support/resp.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

/// What comes back on the connection within the limit, up to and with the first line's end.
std::string answer_on(const Socket& socket, const std::string& request,
                      std::chrono::milliseconds limit = patience) {
    limit_waiting(socket, limit);
    if (!send_all(socket, request)) return "not sent";
    std::string answer;
    char byte = 0;
    while (!answer.ends_with('\n') && recv(socket.get(), &byte, 1, 0) == 1) answer += byte;
    return answer;
}

std::string ping(int port) {
    return answer_on(connect_to_port(port), "PING\r\n");
}

/// Whether a handshake with these arguments of `openssl s_client` comes about.
bool shakes_hands(const RedisServer& server, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "sh", "-c",       "exec openssl s_client -verify_return_error -quiet \"$@\" 2>/dev/null",
        "sh", "-connect", "127.0.0.1:" + std::to_string(server.tls_port())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Child client(arguments);
    try {
        client.say("PING");
    } catch (const std::system_error&) {
        return false;  // it had ended before
    }
    return client.hear() == "+PONG\r";
}

TEST(RedisServer, AnswersWhenItIsThere) {
    const RedisServer server;
    EXPECT_EQ(ping(server.port()), "+PONG\r\n");
    EXPECT_EQ(answer_on(connect_to_path(server.socket_path()), "PING\r\n"), "+PONG\r\n");
    EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(server.socket_url(), "redis+unix://" + server.socket_path().string());
}

TEST(RedisServer, TellsATestWhatIsInside) {
    const RedisServer server;
    EXPECT_EQ(server.command({"SET", "key", "two words"}), "OK");
    EXPECT_EQ(server.command({"KEYS", "*"}), "[key]");
    EXPECT_EQ(server.command({"PTTL", "key"}), "-1");
    EXPECT_EQ(server.command({"GET", "nothing"}), "(nil)");
    EXPECT_TRUE(server.command({"NONSENSE"}).starts_with("-ERR unknown command"));
    EXPECT_NE(server.command({"INFO", "commandstats"}).find("cmdstat_set:calls=1"),
              std::string::npos);
    server.flush();
    EXPECT_EQ(server.command({"KEYS", "*"}), "[]");
}

TEST(RedisServer, ALongAnswerIsReadToItsEnd) {
    const RedisServer server;
    server.command({"SET", "key", std::string(1 << 20, 'x')});
    EXPECT_EQ(server.command({"GET", "key"}).size(), std::size_t{1} << 20);
}

TEST(RedisServer, TwoOfThemDoNotMeet) {
    const RedisServer one;
    const RedisServer other;
    one.command({"SET", "key", "value"});
    EXPECT_NE(one.port(), other.port());
    EXPECT_EQ(other.command({"DBSIZE"}), "0");
}

TEST(RedisServer, ASettingIsHeeded) {
    const RedisServer server({.settings = {"maxmemory 3mb", "databases 3"}});
    EXPECT_EQ(server.command({"CONFIG", "GET", "maxmemory"}), "[maxmemory, 3145728]");
    EXPECT_EQ(server.command({"CONFIG", "GET", "databases"}), "[databases, 3]");
}

TEST(RedisServer, APasswordIsAskedForAndInTheUrl) {
    const RedisServer server({.password = "secret"});
    EXPECT_TRUE(ping(server.port()).starts_with("-NOAUTH"));
    EXPECT_EQ(server.command({"PING"}), "PONG");
    EXPECT_EQ(server.url(), "redis://:secret@127.0.0.1:" + std::to_string(server.port()));
}

TEST(RedisServer, UsersAreKeptToTheirRightsAndTheTestIsNot) {
    const RedisServer server(
        {.settings = {"user default off", "user alice on >secret ~mine/* &* +@all"}});
    const Socket alice = connect_to_port(server.port());
    EXPECT_EQ(answer_on(alice, to_resp({"AUTH", "alice", "secret"})), "+OK\r\n");
    EXPECT_EQ(answer_on(alice, to_resp({"SET", "mine/a", "1"})), "+OK\r\n");
    EXPECT_TRUE(answer_on(alice, to_resp({"SET", "other", "1"})).starts_with("-NOPERM"));
    EXPECT_EQ(server.command({"SET", "other", "1"}), "OK");
}

TEST(RedisServer, WithAnAppendOnlyFileACrashLosesNothing) {
    RedisServer server({.settings = {"appendonly yes"}});
    server.command({"SET", "key", "value"});
    server.kill();
    server.restart();
    EXPECT_EQ(server.command({"GET", "key"}), "value");
    server.restart_empty();
    EXPECT_EQ(server.command({"DBSIZE"}), "0");
}

TEST(RedisServer, AStoppedOneIsSilentUntilItGoesOn) {
    const RedisServer server;
    const Socket before = connect_to_port(server.port());
    server.pause();
    EXPECT_EQ(answer_on(before, "PING\r\n", 50ms), "");
    const Socket after = connect_to_port(server.port());
    EXPECT_TRUE(after) << "the kernel accepts for it";
    EXPECT_EQ(answer_on(after, "PING\r\n", 50ms), "");
    server.resume();
    EXPECT_EQ(answer_on(before, ""), "+PONG\r\n");
    EXPECT_EQ(answer_on(after, ""), "+PONG\r\n");
}

TEST(RedisServer, CanShowTheCertificateOfAnotherMachine) {
    const Certificate& other = certificates().elsewhere;
    const RedisServer server({.tls = true,
                              .settings = {"tls-cert-file " + other.certificate.string(),
                                           "tls-key-file " + other.key.string()}});
    const std::string authority = certificates().authority.certificate;
    EXPECT_TRUE(shakes_hands(server, {"-CAfile", authority}));
    EXPECT_FALSE(shakes_hands(server, {"-CAfile", authority, "-verify_ip", "127.0.0.1"}));
}

TEST(RedisServer, CanDemandACertificateAndRefusesAStrangers) {
    const RedisServer server({.tls = true, .settings = {"tls-auth-clients yes"}});
    const Certificate& client = certificates().client;
    const Certificate& stranger = certificates().stranger;
    const std::string authority = certificates().authority.certificate;
    EXPECT_TRUE(shakes_hands(
        server, {"-CAfile", authority, "-cert", client.certificate, "-key", client.key}));
    EXPECT_FALSE(shakes_hands(
        server, {"-CAfile", authority, "-cert", stranger.certificate, "-key", stranger.key}));
    EXPECT_FALSE(shakes_hands(server, {"-CAfile", authority}));
}

}  // namespace
}  // namespace holdfast::test
