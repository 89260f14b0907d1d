#include "support/fault_proxy.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "support/await.hpp"

namespace holdfast::test {

namespace {

using Moment = ProxiedConnection::Moment;

/// Whose thread this is.
thread_local const FaultProxy* proxy_of_this_thread = nullptr;

Socket make_bell() {
    Socket bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) throw std::system_error(errno, std::generic_category(), "eventfd");
    return bell;
}

std::optional<Moment> first_due(const std::list<ProxiedConnection>& connections) {
    std::optional<Moment> first;
    for (const auto& connection : connections) {
        const auto due = connection.due();
        if (due && (!first || *due < *first)) first = due;
    }
    return first;
}

int milliseconds_until(std::optional<Moment> moment) {
    if (!moment) return -1;
    const auto left = *moment - std::chrono::steady_clock::now();
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(rounded, 0));
}

}  // namespace

FaultProxy::FaultProxy(int server_port, MakeProtocol protocol)
    : server_port_(server_port),
      protocol_(protocol),
      bell_(make_bell()),
      listener_(listen_on(port_.number())) {
    thread_ = std::thread([this] { run(); });
}

FaultProxy::~FaultProxy() {
    order([this] { ends_ = true; });
    thread_.join();
}

// --- controls ------------------------------------------------------------------------------------

void FaultProxy::pass() {
    order([this] {
        rules_ = {};
        for (auto& connection : connections_) connection.let_pass();
        if (!listener_) listener_ = listen_on(port());
    });
}

void FaultProxy::drop_replies(std::size_t count) {
    order([=, this] { rules_.replies_to_drop = count; });
}

void FaultProxy::hold_requests() {
    order([this] { rules_.hold_requests = true; });
}

void FaultProxy::let_pass() {
    order([this] {
        rules_.hold_requests = false;
        for (auto& connection : connections_) connection.let_pass();
    });
}

void FaultProxy::delay_replies(std::chrono::milliseconds delay) {
    order([=, this] { rules_.reply_delay = delay; });
}

void FaultProxy::lose_pushes() {
    order([this] { rules_.lose_pushes = true; });
}

void FaultProxy::garbage(std::string bytes) {
    order([&] { rules_.garbage = std::move(bytes); });
}

void FaultProxy::black_hole() {
    order([this] { rules_.black_hole = true; });
}

void FaultProxy::refuse() {
    order([this] { listener_.close(); });
}

void FaultProxy::cut(Ending ending) {
    order([=, this] {
        for (auto& connection : connections_) connection.cut(ending);
    });
}

void FaultProxy::half_close() {
    order([this] {
        for (auto& connection : connections_) connection.half_close();
    });
}

void FaultProxy::on_request(RequestHook hook) {
    order([&] { rules_.on_request = std::move(hook); });
}

void FaultProxy::rewrite_requests(RequestRewriter rewriter) {
    order([&] { rules_.rewrite = std::move(rewriter); });
}

bool FaultProxy::await_connections(std::size_t count) const {
    return await([&] { return connections() >= count; });
}

bool FaultProxy::await_requests(std::size_t count) const {
    return await([&] { return requests() >= count; });
}

void FaultProxy::order(std::function<void()> work) {
    if (proxy_of_this_thread == this) {
        // From a hook. Another turn, since connections may be concerned that have had theirs.
        work();
        return ring();
    }
    std::promise<void> done;
    auto obeyed = done.get_future();
    {
        const std::lock_guard guard(mutex_);
        orders_.push_back({std::move(work), std::move(done)});
    }
    ring();
    obeyed.get();
}

void FaultProxy::ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(bell_.get(), &one, sizeof one));
}

// --- the proxy's thread --------------------------------------------------------------------------

void FaultProxy::run() {
    proxy_of_this_thread = this;
    while (!ends_) {
        const auto polled = wait();
        auto orders = take_orders();
        // Then, so that an order is about all connections that were made before it was given.
        take_new_connections();
        for (const Order& order : orders) order.work();
        read_where(polled);
        for (auto& connection : connections_) connection.advance();
        std::erase_if(connections_, [](const auto& connection) { return connection.is_over(); });
        for (Order& order : orders) order.done.set_value();
    }
}

/// The bell, the listener, then two of each connection.
std::vector<pollfd> FaultProxy::wait() const {
    std::vector<pollfd> polled = {{.fd = bell_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const auto& connection : connections_) {
        polled.push_back(connection.client_interest());
        polled.push_back(connection.server_interest());
    }
    poll(polled.data(), polled.size(), milliseconds_until(first_due(connections_)));
    return polled;
}

std::vector<FaultProxy::Order> FaultProxy::take_orders() {
    std::uint64_t rung = 0;
    static_cast<void>(!read(bell_.get(), &rung, sizeof rung));
    const std::lock_guard guard(mutex_);
    return std::exchange(orders_, {});
}

void FaultProxy::read_where(const std::vector<pollfd>& polled) {
    auto next = polled.begin() + 2;
    for (auto& connection : connections_) {
        if (next == polled.end()) return;  // those behind are new
        if (next++->revents != 0) connection.read_client();
        if (next++->revents != 0) connection.read_server();
    }
}

void FaultProxy::take_new_connections() {
    while (Socket client = listener_ ? accept_from(listener_) : Socket()) {
        connections_.emplace_back(std::move(client), start_connecting(server_port_), protocol_(),
                                  rules_, counts_);
        ++counts_.connections;
    }
}

}  // namespace holdfast::test
