#include "stores/net/resolver.hpp"

#include <netdb.h>
#include <sys/un.h>

#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include "port/thread.hpp"

namespace holdfast::inline v0::net {

namespace {

using Endpoints = std::vector<Endpoint>;

Endpoint unix_endpoint(const std::string& path) {
    Endpoint endpoint;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.data(), path.size());
    std::memcpy(&endpoint.storage, &name, sizeof name);
    endpoint.size = sizeof name;
    return endpoint;
}

Endpoints endpoints_in(const addrinfo* list) {
    Endpoints endpoints;
    for (; list != nullptr; list = list->ai_next) {
        Endpoint endpoint;
        std::memcpy(&endpoint.storage, list->ai_addr, list->ai_addrlen);
        endpoint.size = list->ai_addrlen;
        endpoints.push_back(endpoint);
    }
    return endpoints;
}

Result<Endpoints> look_up(const Address& address, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int error =
        getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
    if (error != 0) {
        return Failure{errc::unreachable, Effect::none,
                       address.shown() + ": the host is not found (" + gai_strerror(error) +
                           "); check its name"};
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
    return endpoints_in(list);
}

}  // namespace

struct Resolution::State {
    std::mutex mutex;
    std::optional<Result<Endpoints>> result;
};

Resolution::Resolution(const Address& address, std::function<void()> done)
    : state_(std::make_shared<State>()) {
    if (address.reach == Address::Reach::unix_socket) {
        state_->result = Endpoints{unix_endpoint(address.host)};
        return;
    }
    if (auto numeric = look_up(address, AI_NUMERICHOST); numeric.ok()) {
        state_->result = std::move(numeric);
        return;
    }
    try {
        start_thread("holdfast-lookup", [state = state_, address, done = std::move(done)] {
            auto found = look_up(address, 0);
            {
                const std::lock_guard guard(state->mutex);
                state->result = std::move(found);
            }
            done();
        }).detach();
    } catch (const std::system_error& error) {
        state_->result =
            Failure{errc::unreachable, Effect::none,
                    address.shown() + ": its host cannot be looked up: " + error.what()};
    }
}

std::optional<Result<std::vector<Endpoint>>> Resolution::result() const {
    const std::lock_guard guard(state_->mutex);
    return state_->result;
}

}  // namespace holdfast::inline v0::net
