#include "stores/etcd/metrics.hpp"

#include <poll.h>

#include <array>
#include <charconv>
#include <string>

#include "port/clock.hpp"
#include "stores/net/dial.hpp"

namespace holdfast::inline v0::etcd {

namespace {

using Outcome = net::Socket::Outcome;

/// A page by HTTP, from its request to the end of the connection.
class Fetching {
public:
    explicit Fetching(const net::Address& server)
        : until_(BootClock::now() + server.connect_timeout), dial_(server, [] {}) {}

    std::optional<std::string> page(const std::string& request) {
        while (!dial_.established()) {
            if (dial_.advance() || is_late()) return std::nullopt;
            if (!dial_.established())
                wait(dial_.socket() ? dial_.socket()->wanted() : short{POLLIN});
        }
        // Less than any socket takes at once.
        if (net::write_all(*dial_.socket(), request).bytes != request.size()) return std::nullopt;
        return read_all();
    }

private:
    bool is_late() const { return BootClock::now() >= until_; }

    std::optional<std::string> read_all() {
        constexpr std::size_t enough = 1 << 20;
        std::string text;
        std::array<char, 16384> buffer{};
        while (!is_late() && text.size() < enough) {
            const auto transfer = dial_.socket()->read(buffer.data(), buffer.size());
            text.append(buffer.data(), transfer.bytes);
            if (transfer.outcome == Outcome::would_block) wait(POLLIN);
            if (transfer.outcome == Outcome::closed) return text;
            if (transfer.outcome == Outcome::failed) return std::nullopt;
        }
        return std::nullopt;
    }

    /// While a name is looked up there is nothing to wait for but the time.
    void wait(short events) const {
        constexpr int tick = 10;
        const int descriptor = dial_.socket() ? dial_.socket()->descriptor() : -1;
        pollfd ready{.fd = descriptor, .events = events, .revents = 0};
        poll(&ready, 1, tick);
    }

    const Moment until_;
    net::Dial dial_;
};

}  // namespace

std::optional<double> metric(const net::Address& member, std::string_view name) {
    const auto page = Fetching(member).page("GET /metrics HTTP/1.0\r\nHost: " + member.host +
                                            "\r\nConnection: close\r\n\r\n");
    if (!page) return std::nullopt;
    const std::string line = "\n" + std::string(name) + " ";
    const std::size_t found = page->find(line);
    if (found == std::string::npos) return std::nullopt;
    double number = 0;
    const char* const digits = page->data() + found + line.size();
    const auto error = std::from_chars(digits, page->data() + page->size(), number).ec;
    return error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace holdfast::inline v0::etcd
