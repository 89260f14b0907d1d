#include "servers/memcached_server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "servers/texts.hpp"
#include "support/process_wide.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

/// What it says up to and with `end`; nothing when the connection ends first, or is silent.
std::optional<std::string> receive_until(const Socket& socket, std::string_view end) {
    std::string received;
    char buffer[16 * 1024];
    while (!received.ends_with(end)) {
        const ssize_t count = recv(socket.get(), buffer, sizeof buffer, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return std::nullopt;
        received.append(buffer, static_cast<std::size_t>(count));
    }
    return received;
}

std::optional<std::string> ask(int port, const std::string& bytes, std::string_view end = "\r\n") {
    const Socket socket = connect_to_port(port, 2s);
    if (!socket || !send_all(socket, bytes + "\r\n")) return std::nullopt;
    return receive_until(socket, end);
}

}  // namespace

MemcachedServer::MemcachedServer(MemcachedOptions options)
    : ServerProcess("memcached"), options_(std::move(options)) {
    if (!options_.users.empty()) std::ofstream(file("users")) << options_.users;
    make_and_start();
    await_serving();
}

MemcachedServer& MemcachedServer::shared() {
    return ProcessWide<MemcachedServer>::get();
}

std::vector<std::string> MemcachedServer::command_line() const {
    std::vector<std::string> words = {"memcached", "-U", "0", "-l"};
    if (options_.tls) {
        const Certificates& known = certificates();
        words.push_back("notls:" + address() + ",127.0.0.1:" + std::to_string(tls_port()));
        std::string keys = "ssl_chain_cert=" + known.server.certificate.string() +
                           ",ssl_key=" + known.server.key.string();
        if (options_.client_certificates) {
            keys += ",ssl_verify_mode=2,ssl_ca_cert=" + known.authority.certificate.string();
        }
        words.insert(words.end(), {"-Z", "-o", keys});
    } else {
        words.push_back(address());
    }
    // It refuses to run as root unless it is told to.
    if (getuid() == 0) words.insert(words.end(), {"-u", "root"});
    if (!options_.users.empty()) words.insert(words.end(), {"-Y", file("users").string()});
    if (options_.binary) words.insert(words.end(), {"-B", "binary"});
    words.insert(words.end(), options_.flags.begin(), options_.flags.end());
    return logged(words);
}

bool MemcachedServer::serves() const {
    if (options_.binary) return static_cast<bool>(connect_to_port(port(), 2s));
    return ask(port(), "version").has_value();
}

std::string MemcachedServer::tls_url() const {
    return "memcacheds://127.0.0.1:" + std::to_string(tls_port()) +
           "?tls_ca=" + certificates().authority.certificate.string();
}

std::string MemcachedServer::command(const std::string& bytes) const {
    const auto answer = ask(port(), bytes);
    if (!answer) throw std::runtime_error("memcached does not answer: " + end_of(log()));
    return answer->substr(0, answer->find("\r\n"));
}

std::uint64_t MemcachedServer::stat(const std::string& name) const {
    const auto answer = ask(port(), "stats", "END\r\n");
    const auto value = value_in(answer.value_or(""), "STAT " + name, " ");
    if (!value) throw std::runtime_error("memcached does not tell " + name);
    return std::stoull(*value);
}

void MemcachedServer::fill(std::uint64_t evictions) const {
    constexpr std::size_t batch = 1000;
    const Socket socket = connect_to_port(port());
    for (int i = 0; stat("evictions") < evictions; ++i) {
        std::string sets;
        for (std::size_t j = 0; j < batch; ++j) {
            // Of all sizes that a lock's item may have: others are never evicted for it.
            const std::string value(40 + j % 12 * 20, 'x');
            sets += "ms filling/" + std::to_string(i) + "/" + std::to_string(j) + " " +
                    std::to_string(value.size()) + " q\r\n" + value + "\r\n";
        }
        if (!send_all(socket, sets + "mn\r\n")) throw std::runtime_error("memcached hangs up");
        const std::string said = receive_until(socket, "MN\r\n").value_or("");
        // A line for each that it had no room for.
        if (std::ranges::count(said, '\n') > static_cast<std::ptrdiff_t>(batch)) return;
    }
}

}  // namespace holdfast::test
