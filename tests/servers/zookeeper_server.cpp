#include "servers/zookeeper_server.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "servers/texts.hpp"
#include "support/process_wide.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

/// A connection that comes before the server is ready may never be answered.
constexpr std::chrono::milliseconds patience_with_one_that_starts = 250ms;

/// Nothing when it is not there, or silent for so long.
std::optional<std::string> answer_of(int port, const std::string& word,
                                     std::chrono::milliseconds limit) {
    const Socket socket = connect_to_port(port, limit);
    if (!socket) return std::nullopt;
    if (!send_all(socket, word)) return std::nullopt;
    std::string answer;
    char buffer[16 * 1024];
    for (;;) {
        const ssize_t count = recv(socket.get(), buffer, sizeof buffer, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count == 0 && !answer.empty()) return answer;
        if (count <= 0) return std::nullopt;
        answer.append(buffer, static_cast<std::size_t>(count));
    }
}

/// Short-lived and many: little memory, and no effort to become fast.
constexpr std::array flags_for_a_quick_start = {"-Xmx256m", "-XX:+UseSerialGC",
                                                "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"};

}  // namespace

ZookeeperServer::ZookeeperServer(ZookeeperOptions options)
    : ServerProcess("ZooKeeper"), options_(std::move(options)) {
    write_configuration();
    make_and_start();
    if (options_.id == 0) await_serving();
}

ZookeeperServer& ZookeeperServer::shared() {
    struct Shared : ZookeeperServer {
        Shared() : ZookeeperServer({.reaps_every = 100ms}) {}
    };
    return ProcessWide<Shared>::get();
}

void ZookeeperServer::make_data() const {
    std::filesystem::create_directory(file("data"));
    if (options_.id != 0) std::ofstream(file("data") / "myid") << options_.id << "\n";
}

void ZookeeperServer::write_configuration() const {
    std::ofstream out(file("zoo.cfg"));
    out << "tickTime=500\ndataDir=" << file("data").string() << "\n"
        << "clientPort=" << port() << "\nclientPortAddress=127.0.0.1\n"
        << "admin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n"
        << "forceSync=no\npreAllocSize=1024\n";
    if (options_.tls) {
        write_key_store();
        out << "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
            << "secureClientPort=" << tls_port() << "\nsecureClientPortAddress=127.0.0.1\n"
            << "ssl.clientAuth=want\n"
            << "ssl.keyStore.type=PEM\nssl.keyStore.location=" << file("key.pem").string() << "\n"
            << "ssl.trustStore.type=PEM\nssl.trustStore.location="
            << certificates().authority.certificate.string() << "\n";
    }
    for (const std::string& line : options_.settings) out << line << "\n";
    if (!out.flush()) throw std::system_error(errno, std::generic_category(), "zoo.cfg");
}

void ZookeeperServer::write_key_store() const {
    const Certificate& own = certificates().server;
    std::ofstream(file("key.pem")) << contents_of(own.key) << contents_of(own.certificate);
}

std::vector<std::string> ZookeeperServer::command_line() const {
    std::vector<std::string> words{HOLDFAST_TEST_JAVA};
    words.insert(words.end(), flags_for_a_quick_start.begin(), flags_for_a_quick_start.end());
    // See archive_classes.py. Java does without when it is not what it expects.
    words.emplace_back("-XX:SharedArchiveFile=" HOLDFAST_TEST_ZOOKEEPER_CLASSES);
    words.push_back("-Dorg.slf4j.simpleLogger.logFile=" + file("log").string());
    if (options_.reaps_every) {
        words.push_back("-Dznode.container.checkIntervalMs=" +
                        std::to_string(options_.reaps_every->count()));
        words.emplace_back("-Dznode.container.maxPerMinute=1000000");
    }
    words.insert(words.end(), options_.java_flags.begin(), options_.java_flags.end());
    words.insert(words.end(),
                 {"-cp", HOLDFAST_TEST_ZOOKEEPER_JARS,
                  "org.apache.zookeeper.server.quorum.QuorumPeerMain", file("zoo.cfg")});
    return words;
}

bool ZookeeperServer::serves() const {
    // The port for TLS is opened after the other one.
    return !mode().empty() &&
           (!options_.tls || connect_to_port(tls_port(), patience_with_one_that_starts));
}

void ZookeeperServer::restart_with(const std::vector<std::string>& settings) {
    options_.settings.insert(options_.settings.end(), settings.begin(), settings.end());
    write_configuration();
    restart();
}

std::string ZookeeperServer::url_through(int port) const {
    return "zookeeper://127.0.0.1:" + std::to_string(port);
}

std::string ZookeeperServer::tls_url() const {
    return "zookeepers://127.0.0.1:" + std::to_string(tls_port()) +
           "?tls_ca=" + certificates().authority.certificate.string();
}

std::string ZookeeperServer::ask(const std::string& word, std::chrono::milliseconds limit) const {
    auto answer = answer_of(port(), word, limit);
    if (!answer) {
        throw std::runtime_error("ZooKeeper on port " + std::to_string(port()) +
                                 " gave no answer to " + word);
    }
    return std::move(*answer);
}

double ZookeeperServer::measured(const std::string& name) const {
    const auto value = value_in(ask("mntr"), "zk_" + name, "\t");
    if (!value) throw std::runtime_error("ZooKeeper does not measure " + name);
    return std::stod(*value);
}

std::string ZookeeperServer::mode() const {
    const auto answer = answer_of(port(), "srvr", patience_with_one_that_starts);
    return value_in(answer.value_or(""), "Mode", ": ").value_or("");
}

}  // namespace holdfast::test
