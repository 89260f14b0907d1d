#include "servers/redis_server.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "support/process_wide.hpp"
#include "support/resp.hpp"

namespace holdfast::test {

namespace {

/// Who looks into the server for a test.
constexpr const char* observer = "holdfast-test-observer";

/// The next value that arrives; nothing when the connection ends first.
std::optional<Resp> receive(const Socket& socket, std::string& received) {
    for (;;) {
        std::string_view rest = received;
        if (auto value = read_resp(rest)) {
            received.erase(0, received.size() - rest.size());
            return value;
        }
        char buffer[16 * 1024];
        const ssize_t count = recv(socket.get(), buffer, sizeof buffer, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return std::nullopt;
        received.append(buffer, static_cast<std::size_t>(count));
    }
}

/// Nothing when the server is not there, or ends the connection.
std::optional<std::string> ask(const std::filesystem::path& socket_path,
                               const std::vector<std::string>& words) {
    const Socket socket = connect_to_path(socket_path);
    if (!socket) return std::nullopt;
    // In one go: the user is the observer when the server reads the rest.
    if (!send_all(socket, to_resp({"AUTH", observer, observer}) + to_resp(words))) {
        return std::nullopt;
    }
    std::string received;
    const auto greeting = receive(socket, received);
    if (!greeting) return std::nullopt;
    const auto answer = receive(socket, received);
    return answer ? std::optional(to_text(*answer)) : std::nullopt;
}

}  // namespace

std::optional<std::string> ask_resp(int port, const std::vector<std::string>& words,
                                    const std::string& password) {
    const Socket socket = connect_to_port(port, std::chrono::seconds{1});
    std::string received;
    const auto say = [&](const std::vector<std::string>& what) -> std::optional<Resp> {
        if (!socket || !send_all(socket, to_resp(what))) return std::nullopt;
        return receive(socket, received);
    };
    if (!password.empty() && !say({"AUTH", password})) return std::nullopt;
    const auto answer = say(words);
    return answer ? std::optional(to_text(*answer)) : std::nullopt;
}

RedisServer::RedisServer(RedisOptions options)
    : ServerProcess("redis-server"), options_(std::move(options)) {
    write_configuration();
    make_and_start();
    await_serving();
}

RedisServer& RedisServer::shared() {
    return ProcessWide<RedisServer>::get();
}

void RedisServer::write_configuration() const {
    std::ofstream out(file("redis.conf"));
    out << "bind 127.0.0.1\nport " << port() << "\nunixsocket " << socket_path().string() << "\n"
        << "dir " << file("data").string() << "\nlogfile " << file("log").string() << "\n"
        << "save \"\"\nappendonly no\nenable-debug-command local\n"
        << "user " << observer << " on >" << observer << " ~* &* +@all\n";
    if (!options_.password.empty()) out << "requirepass " << options_.password << "\n";
    if (options_.tls) {
        const Certificates& known = certificates();
        out << "tls-port " << tls_port() << "\ntls-auth-clients optional\n"
            << "tls-cert-file " << known.server.certificate.string() << "\n"
            << "tls-key-file " << known.server.key.string() << "\n"
            << "tls-ca-cert-file " << known.authority.certificate.string() << "\n";
    }
    for (const std::string& line : options_.settings) out << line << "\n";
    if (!out.flush()) throw std::system_error(errno, std::generic_category(), "redis.conf");
}

void RedisServer::make_data() const {
    std::filesystem::create_directory(file("data"));
}

std::vector<std::string> RedisServer::command_line() const {
    std::vector<std::string> words = options_.under;
    words.insert(words.end(), {"redis-server", file("redis.conf").string()});
    return words;
}

bool RedisServer::serves() const {
    // While it loads its data it answers, but with an error.
    return ask(socket_path(), {"PING"}) == "PONG";
}

std::string RedisServer::url_through(int port) const {
    return "redis://" + user_in_url() + "127.0.0.1:" + std::to_string(port);
}

std::string RedisServer::tls_url() const {
    return "rediss://" + user_in_url() + "127.0.0.1:" + std::to_string(tls_port()) +
           "?tls_ca=" + certificates().authority.certificate.string();
}

std::string RedisServer::socket_url() const {
    return "redis+unix://" + user_in_url() + socket_path().string();
}

std::string RedisServer::user_in_url() const {
    return options_.password.empty() ? "" : ":" + options_.password + "@";
}

std::string RedisServer::role() const {
    return ask(socket_path(), {"ROLE"}).value_or("");
}

bool RedisServer::is_followed_by(const RedisServer& replica) const {
    const std::string entry = "127.0.0.1, " + std::to_string(replica.port()) + ", ";
    return is_master() && role().find(entry) != std::string::npos;
}

std::string RedisServer::command(const std::vector<std::string>& words) const {
    auto answer = ask(socket_path(), words);
    if (!answer) {
        throw std::runtime_error("redis-server on port " + std::to_string(port()) +
                                 " gave no answer to " + words.at(0));
    }
    return std::move(*answer);
}

void RedisServer::restart() {
    if (runs()) {
        resume();
        const auto refused = ask(socket_path(), {"SHUTDOWN", "SAVE", "NOW", "FORCE"});
        if (refused) throw std::runtime_error("redis-server cannot save: " + *refused);
        end_by_itself();
    }
    ServerProcess::restart();
}

}  // namespace holdfast::test
