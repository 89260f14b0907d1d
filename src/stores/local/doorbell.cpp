#include "stores/local/doorbell.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace holdfast::inline v0::local {

namespace {

constexpr std::string_view name_start = "bell.";

std::string name_of(ledger::ClientId client) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(client));
    return std::string(name_start) + digits;
}

sockaddr_un address_of(const Folder& folder, ledger::ClientId client) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder.reach(name_of(client));
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    return address;
}

int datagram_socket() {
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int send_to(int socket, const sockaddr_un& address) {
    const char look = '!';
    const auto sent = sendto(socket, &look, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return sent == 1 ? 0 : errno;
}

}  // namespace

Doorbell::Doorbell(const Folder& folder, ledger::ClientId client)
    : folder_(folder), client_(client), socket_(datagram_socket()) {
    const sockaddr_un address = address_of(folder, client);
    if (socket_.get() < 0 ||
        bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        folder_.fail_with(errno, "a socket cannot be made in it");
    }
    folder_.set_mode(name_of(client));
}

Doorbell::~Doorbell() {
    remove(folder_, client_);
}

void Doorbell::silence() noexcept {
    char look = 0;
    while (recv(socket_.get(), &look, 1, MSG_DONTWAIT) >= 0) {
    }
}

Doorbell::Answer Doorbell::ring(ledger::ClientId other) const noexcept {
    const sockaddr_un address = address_of(folder_, other);
    int error = send_to(socket_.get(), address);
    if (error == EAGAIN) {
        // Either its queue is full, and it will look, or ours is, with what others (stopped ones,
        // say) have not read: a socket of its own tells which.
        const Descriptor fresh(datagram_socket());
        if (fresh) error = send_to(fresh.get(), address);
    }
    return error == ECONNREFUSED || error == ENOENT ? Answer::nobody : Answer::rung;
}

void Doorbell::remove(const Folder& folder, ledger::ClientId client) noexcept {
    folder.remove(name_of(client));
}

void Doorbell::remove_all(const Folder& folder) noexcept {
    folder.remove_all(name_start);
}

}  // namespace holdfast::inline v0::local
