#include "servers/etcd_server.hpp"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <stdexcept>

#include "servers/texts.hpp"
#include "support/await.hpp"
#include "support/process_wide.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

/// One that stands still is not waited for.
constexpr std::chrono::milliseconds patience_with_one_that_starts = 500ms;

std::string http(int port) {
    return "http://127.0.0.1:" + std::to_string(port);
}

/// The answer to a GET, head and all; nothing when there is none in time.
std::optional<std::string> page_of(int port, const std::string& path,
                                   std::chrono::milliseconds limit) {
    const Socket socket = connect_to_port(port, limit);
    if (!socket) return std::nullopt;
    if (!send_all(socket, "GET " + path + " HTTP/1.0\r\n\r\n")) return std::nullopt;
    std::string page;
    char buffer[16 * 1024];
    for (;;) {
        const ssize_t count = recv(socket.get(), buffer, sizeof buffer, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::nullopt;
        if (count == 0) return page;
        page.append(buffer, static_cast<std::size_t>(count));
    }
}

}  // namespace

EtcdServer::EtcdServer(EtcdOptions options) : ServerProcess("etcd"), options_(std::move(options)) {
    start();
    if (!options_.membership) await_serving();
}

EtcdServer& EtcdServer::shared() {
    return ProcessWide<EtcdServer>::get();
}

EtcdMembership EtcdServer::alone() const {
    const int port = peer_port_.number();
    return {.name = "alone",
            .listened_port = port,
            .advertised_port = port,
            .cluster = "alone=" + http(port)};
}

std::vector<std::string> EtcdServer::command_line() const {
    const EtcdMembership membership = options_.membership ? *options_.membership : alone();
    const std::string tls = "https://127.0.0.1:" + std::to_string(tls_port());
    std::vector<std::string> words = {
        "etcd",
        "--data-dir=" + file("data").string(),
        "--name=" + membership.name,
        "--listen-client-urls=" + http(port()) + (options_.tls ? "," + tls : ""),
        "--advertise-client-urls=" + http(port()),
        "--listen-peer-urls=" + http(membership.listened_port),
        "--initial-advertise-peer-urls=" + http(membership.advertised_port),
        "--initial-cluster=" + membership.cluster,
        "--strict-reconfig-check=false",  // or it refuses to for its first 5 s
        "--bcrypt-cost=4",
        "--logger=zap",
        "--log-level=warn",
        "--log-outputs=stderr"};
    if (options_.tls) {
        const Certificate& own = certificates().server;
        words.push_back("--cert-file=" + own.certificate.string());
        words.push_back("--key-file=" + own.key.string());
    }
    if (options_.client_certificates) {
        words.emplace_back("--client-cert-auth");
        words.push_back("--trusted-ca-file=" + certificates().authority.certificate.string());
    }
    if (!options_.membership) {
        // The shortest lease is one and a half times an election, which one alone wins on any day.
        words.insert(words.end(), {"--heartbeat-interval=60", "--election-timeout=600"});
    }
    words.insert(words.end(), options_.flags.begin(), options_.flags.end());
    // What its older parts say does not go where the log goes.
    return logged(std::move(words));
}

std::string EtcdServer::url_through(int port) const {
    return "etcd://127.0.0.1:" + std::to_string(port);
}

std::string EtcdServer::tls_url() const {
    return "etcds://127.0.0.1:" + std::to_string(tls_port()) +
           "?tls_ca=" + certificates().authority.certificate.string();
}

std::string EtcdServer::ctl(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"env", "ETCDCTL_API=3", "sh", "-c", R"(exec etcdctl "$@" 2>&1)",
                                    "sh"};
    // It would add one to the other.
    const bool names_it = !words.empty() && words.front().starts_with("--endpoints=");
    if (!names_it) all.push_back("--endpoints=" + http(port()));
    all.insert(all.end(), words.begin(), words.end());
    return said_by(all, "etcdctl " + (words.empty() ? "" : words.front()));
}

double EtcdServer::measured(const std::string& name) const {
    const auto page = page_of(port(), "/metrics", patience);
    const auto value = value_in(page.value_or(""), name, " ");
    if (!value) throw std::runtime_error("etcd does not measure " + name);
    return std::stod(*value);
}

double EtcdServer::counted(const std::string& service, const std::string& method) const {
    const bool streams = method == "Watch" || method == "LeaseKeepAlive";
    return measured("grpc_server_started_total{grpc_method=\"" + method + "\",grpc_service=\"" +
                    service + "\",grpc_type=\"" + (streams ? "bidi_stream" : "unary") + "\"}");
}

bool EtcdServer::leads() const {
    const auto page = page_of(port(), "/metrics", patience_with_one_that_starts);
    return value_in(page.value_or(""), "etcd_server_is_leader", " ") == "1" &&
           value_in(*page, "etcd_server_has_leader", " ") == "1";
}

bool EtcdServer::serves() const {
    const auto page = page_of(port(), "/health", patience_with_one_that_starts);
    return page.value_or("").find(R"({"health":"true"})") != std::string::npos;
}

}  // namespace holdfast::test
