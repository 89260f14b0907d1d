#include "support/proxied_connection.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace holdfast::test {

namespace {

/// More than any test sends at once; beyond it the peer is made to wait.
constexpr std::size_t most_bytes = 16 << 20;

enum class Arrival { some, none, end };

Arrival receive(const Socket& socket, std::string& into, std::atomic<std::size_t>& counted) {
    char buffer[64 * 1024];
    const ssize_t count = recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Arrival::none;
    if (count <= 0) return Arrival::end;
    into.append(buffer, static_cast<std::size_t>(count));
    counted += static_cast<std::size_t>(count);
    return Arrival::some;
}

/// Takes from `bytes` what could be sent; false when the connection is gone.
bool send_some(const Socket& socket, std::string& bytes) {
    if (bytes.empty()) return true;
    const ssize_t count =
        send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    // While it is still connecting, there is no buffer to write to.
    if (count < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
    bytes.erase(0, static_cast<std::size_t>(count));
    return true;
}

/// What is unread when a socket is closed makes a reset of its end.
void close_in_order(Socket& socket) {
    char buffer[64 * 1024];
    while (recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT) > 0) {
    }
    socket.close();
}

void close_with_reset(Socket& socket) {
    const linger none{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    socket.close();
}

}  // namespace

// --- what a poll is to wait for ------------------------------------------------------------------

pollfd ProxiedConnection::client_interest() const {
    short events = 0;
    if (!rules_.black_hole) {
        if (hears_client_ && !client_ended_ && backlog_of_requests() < most_bytes) events |= POLLIN;
        if (!replies_.empty() && rules_.reply_delay.count() == 0) events |= POLLOUT;
    }
    // Without events it would still report a hang-up, again and again.
    return {.fd = events == 0 ? -1 : client_.get(), .events = events, .revents = 0};
}

pollfd ProxiedConnection::server_interest() const {
    short events = 0;
    if (!rules_.black_hole) {
        if (!server_ended_ && backlog_of_replies() < most_bytes) events |= POLLIN;
        if (!to_server_.empty()) events |= POLLOUT;
    }
    return {.fd = events == 0 ? -1 : server_.get(), .events = events, .revents = 0};
}

std::optional<ProxiedConnection::Moment> ProxiedConnection::due() const {
    if (rules_.black_hole || replies_.empty() || rules_.reply_delay.count() == 0) {
        return std::nullopt;
    }
    return replies_.front().arrived + rules_.reply_delay;
}

std::size_t ProxiedConnection::backlog_of_requests() const {
    std::size_t bytes = from_client_.size() + to_server_.size();
    for (const std::string& request : requests_) bytes += request.size();
    return bytes;
}

std::size_t ProxiedConnection::backlog_of_replies() const {
    std::size_t bytes = from_server_.size();
    for (const Reply& reply : replies_) bytes += reply.bytes.size();
    return bytes;
}

// --- from the client to the server ---------------------------------------------------------------

void ProxiedConnection::read_client() {
    if (rules_.black_hole || !client_ || client_ended_) return;
    switch (receive(client_, from_client_, counts_.bytes_from_clients)) {
        case Arrival::some:
            take_requests();
            break;
        case Arrival::end:
            client_ended_ = true;
            break;
        case Arrival::none:
            break;
    }
}

void ProxiedConnection::take_requests() {
    std::string_view rest = from_client_;
    while (!opaque_) {
        // What a TLS handshake begins with, and no request.
        opaque_ = rest.starts_with("\x16\x03\x01");
        const auto size = opaque_ ? std::nullopt : protocol_->size_of_first(rest);
        if (!size) break;
        requests_.emplace_back(rest.substr(0, *size));
        rest.remove_prefix(*size);
        ++counts_.requests;
    }
    from_client_.erase(0, from_client_.size() - rest.size());
    if (opaque_) requests_.push_back(std::exchange(from_client_, {}));
}

void ProxiedConnection::judge_requests() {
    // Each time anew: a hook may change the rules.
    while (!requests_.empty() && !rules_.hold_requests && !rules_.black_hole && !first_is_judged_) {
        std::string request = std::move(requests_.front());
        requests_.pop_front();
        judge(std::move(request));
    }
}

void ProxiedConnection::judge(std::string request) {
    if (rules_.rewrite) rules_.rewrite(request);
    switch (verdict_on(request)) {
        case Verdict::pass:
            return forward(request, passing());
        case Verdict::drop_reply:
            return forward(request, {.fate = Fate::swallow});
        case Verdict::hold:
            requests_.push_front(std::move(request));
            first_is_judged_ = true;
            return;
        case Verdict::cut_before:
            return cut_behind_earlier_replies();
        case Verdict::cut_after:
            to_server_ += request;
            return cut_behind_earlier_replies();
    }
}

Verdict ProxiedConnection::verdict_on(const std::string& request) {
    if (opaque_ || !rules_.on_request) return Verdict::pass;
    // A copy: it may be taken away by what it does itself.
    const RequestHook ask = rules_.on_request;
    return ask(request);
}

/// The reply to expect for a request that no verdict is about.
ProxiedConnection::Expected ProxiedConnection::passing() {
    if (opaque_) return {};
    if (rules_.replies_to_drop > 0) {
        --rules_.replies_to_drop;
        return {.fate = Fate::swallow};
    }
    if (rules_.garbage) {
        Expected expected{.fate = Fate::replace, .replacement = std::move(*rules_.garbage)};
        rules_.garbage.reset();
        return expected;
    }
    return {};
}

void ProxiedConnection::forward(const std::string& request, Expected expected) {
    to_server_ += request;
    if (opaque_) return;
    const std::size_t replies = protocol_->replies_to(request);
    expected_.insert(expected_.end(), replies, expected);
}

void ProxiedConnection::cut_behind_earlier_replies() {
    expected_.push_back({.fate = Fate::cut});
    requests_.clear();
    hears_client_ = false;
}

void ProxiedConnection::let_pass() {
    if (!std::exchange(first_is_judged_, false)) return;
    awaits_late_replies_ = client_ended_;
    const std::string request = std::move(requests_.front());
    requests_.pop_front();
    forward(request, {.late = true});
}

void ProxiedConnection::flush_to_server() {
    if (!server_ended_ && !send_some(server_, to_server_)) lose_server();
}

// --- from the server to the client ---------------------------------------------------------------

void ProxiedConnection::read_server() {
    if (rules_.black_hole || server_ended_) return;
    switch (receive(server_, from_server_, counts_.bytes_from_server)) {
        case Arrival::some:
            take_replies();
            break;
        case Arrival::end:
            lose_server();
            break;
        case Arrival::none:
            break;
    }
}

void ProxiedConnection::take_replies() {
    if (opaque_) return send_to_client(std::exchange(from_server_, {}));
    std::string_view rest = from_server_;
    while (const auto size = protocol_->size_of_first(rest)) {
        deliver(std::string(rest.substr(0, *size)));
        rest.remove_prefix(*size);
    }
    from_server_.erase(0, from_server_.size() - rest.size());
}

void ProxiedConnection::deliver(std::string frame) {
    if (protocol_->is_push(frame)) {
        if (!rules_.lose_pushes) send_to_client(std::move(frame));
        return;
    }
    if (expected_.empty()) return send_to_client(std::move(frame));
    if (expected_.front().fate == Fate::cut) return;
    Expected expected = std::move(expected_.front());
    expected_.pop_front();
    if (expected.late) ++counts_.late_replies;
    if (expected.fate == Fate::pass) {
        send_to_client(std::move(frame));
    } else if (expected.fate == Fate::replace) {
        send_to_client(std::move(expected.replacement));
    } else {
        // A later reply would be taken for this one.
        deaf_ = true;
        cut_when_quiet_ = true;
    }
}

void ProxiedConnection::send_to_client(std::string bytes) {
    if (!deaf_) replies_.push_back({std::chrono::steady_clock::now(), std::move(bytes)});
}

void ProxiedConnection::flush_to_client() {
    const auto now = std::chrono::steady_clock::now();
    while (!replies_.empty() && replies_.front().arrived + rules_.reply_delay <= now) {
        std::string& bytes = replies_.front().bytes;
        if (!send_some(client_, bytes)) return lose_client();
        if (!bytes.empty()) return;
        replies_.pop_front();
    }
}

// --- its end -------------------------------------------------------------------------------------

void ProxiedConnection::advance() {
    if (rules_.black_hole) return;
    judge_requests();
    flush_to_server();
    flush_to_client();
    if (is_to_be_cut()) cut(Ending::fin);
    const bool all_said = client_ended_ && requests_.empty() && to_server_.empty();
    const bool all_heard = !awaits_late_replies_ || expected_.empty();
    if (all_said && all_heard && !std::exchange(server_told_of_end_, true)) {
        // Closing could cost the server what it has not read yet.
        shutdown(server_.get(), SHUT_WR);
    }
}

bool ProxiedConnection::is_to_be_cut() const {
    if (!client_ || !replies_.empty()) return false;
    return expected_.empty() ? cut_when_quiet_ : expected_.front().fate == Fate::cut;
}

void ProxiedConnection::cut(Ending ending) {
    if (!client_) return;
    if (ending == Ending::reset) {
        close_with_reset(client_);
    } else {
        close_in_order(client_);
    }
    lose_client();
}

void ProxiedConnection::half_close() {
    deaf_ = true;
    replies_.clear();
    if (client_) shutdown(client_.get(), SHUT_WR);
}

void ProxiedConnection::lose_client() {
    client_.close();
    client_ended_ = true;
    deaf_ = true;
    replies_.clear();
}

void ProxiedConnection::lose_server() {
    server_ended_ = true;
    requests_.clear();
    first_is_judged_ = false;
    to_server_.clear();
}

}  // namespace holdfast::test
