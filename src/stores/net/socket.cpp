#include "stores/net/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "port/wire.hpp"

namespace holdfast::inline v0::net {

namespace {

std::string in_words(int error) {
    return std::generic_category().message(error);
}

Socket::Transfer failed(int error) {
    if (error == EAGAIN || error == EINTR) return {.outcome = Socket::Outcome::would_block};
    return {.outcome = Socket::Outcome::failed, .why = in_words(error)};
}

class PlainSocket final : public Socket {
public:
    PlainSocket(const Endpoint& endpoint, std::optional<std::chrono::milliseconds> patience)
        : patience_(patience) {
        const int family = endpoint.storage.ss_family;
        descriptor_ = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (descriptor_ < 0) throw out_of_descriptors();
        const int on = 1;
        if (family != AF_UNIX) {
            setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        const auto* const name = reinterpret_cast<const sockaddr*>(&endpoint.storage);
        if (connect(descriptor_, name, endpoint.size) != 0 && errno != EINPROGRESS) {
            connect_error_ = errno;
        }
    }
    ~PlainSocket() override { close(descriptor_); }
    PlainSocket(const PlainSocket&) = delete;
    PlainSocket& operator=(const PlainSocket&) = delete;

    Transfer establish() override {
        if (connect_error_ != 0) {
            return {.outcome = Outcome::failed, .why = in_words(connect_error_)};
        }
        pollfd connected{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        if (poll(&connected, 1, 0) == 0) return {.outcome = Outcome::would_block};
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) return {.outcome = Outcome::failed, .why = in_words(error)};
        if (patience_) let_it_block(*patience_);
        return {};
    }
    Transfer read(char* buffer, std::size_t size) override {
        return received(recv(descriptor_, buffer, size, MSG_DONTWAIT));
    }
    std::optional<std::chrono::milliseconds> patience() const noexcept override {
        return patience_;
    }
    Transfer await(char* buffer, std::size_t size) override {
        return received(recv(descriptor_, buffer, size, 0));
    }
    Transfer write(std::string_view bytes) override {
        const ssize_t count =
            send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) return failed(errno);
        return {.bytes = static_cast<std::size_t>(count)};
    }
    short wanted() const noexcept override { return POLLOUT; }
    int descriptor() const noexcept override { return descriptor_; }
    void shut_down() noexcept override { shutdown(descriptor_, SHUT_RDWR); }

private:
    static Transfer received(ssize_t count) {
        if (count < 0) return failed(errno);
        if (count == 0) return {.outcome = Outcome::closed};
        return {.bytes = static_cast<std::size_t>(count)};
    }

    void let_it_block(std::chrono::milliseconds longest) {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(longest);
        const timeval limit{.tv_sec = seconds.count(),
                            .tv_usec = std::chrono::microseconds{longest - seconds}.count()};
        setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        fcntl(descriptor_, F_SETFL, 0);
    }

    const std::optional<std::chrono::milliseconds> patience_;
    int descriptor_ = -1;
    int connect_error_ = 0;
};

}  // namespace

Socket::Transfer write_all(Socket& socket, std::string_view bytes) {
    Socket::Transfer all;
    while (all.outcome == Socket::Outcome::done && all.bytes < bytes.size()) {
        const auto one = socket.write(bytes.substr(all.bytes));
        all.outcome = one.outcome;
        all.bytes += one.bytes;
    }
    return all;
}

std::shared_ptr<Socket> connect_to(const Address& address, const Endpoint& endpoint) {
    if (address.reach != Address::Reach::tls) {
        return std::make_shared<PlainSocket>(endpoint, address.request_timeout);
    }
    return secured(address, std::make_unique<PlainSocket>(endpoint, std::nullopt));
}

}  // namespace holdfast::inline v0::net
