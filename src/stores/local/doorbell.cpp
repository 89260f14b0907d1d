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

/// Where what a client is to be told is kept for it.
ledger::Key box_of(ledger::ClientId client) {
    return ledger::Key('q') << client;
}

constexpr int how = MSG_DONTWAIT | MSG_NOSIGNAL;

/// Enough for a busy line; finding a socket by its path costs more than ringing.
constexpr std::size_t most_lines = 64;

}  // namespace

Doorbell::Doorbell(const Folder& folder, ledger::ClientId client)
    : folder_(folder), client_(client), socket_(datagram_socket()) {
    const sockaddr_un address = address_of(folder, client);
    if (socket_.get() < 0 ||
        bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        folder_.fail_with(errno, "a socket cannot be made in it");
    }
    folder_.share_socket(name_of(client));
}

Doorbell::~Doorbell() {
    remove(folder_, client_);
}

std::optional<ledger::Told> Doorbell::hear() noexcept {
    // One at a time: another one makes it readable again, and mostly there is none.
    Message message{};
    const auto received = recv(socket_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (received != sizeof message) return std::nullopt;
    return ledger::Told{.client = client_, .nonce = message.nonce, .state = message.state};
}

Doorbell::Answer Doorbell::tell(const ledger::Told& told) noexcept {
    const std::lock_guard guard(mutex_);
    const Message message{.nonce = told.nonce, .state = told.state};
    const int line = line_to(told.client);
    const auto sent = line >= 0 ? send(line, &message, sizeof message, how) : shout(told, message);
    if (sent == sizeof message) return Answer::told;
    if (errno == EAGAIN || errno == ENOBUFS) return Answer::full;
    lines_.erase(told.client);
    return Answer::nobody;
}

/// To one that there is no line to, because this process has no descriptor left for another.
ssize_t Doorbell::shout(const ledger::Told& told, const Message& message) const noexcept {
    const sockaddr_un address = address_of(folder_, told.client);
    return sendto(socket_.get(), &message, sizeof message, how,
                  reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

/// A socket for each: what one client does not read must not fill up what the others are sent.
int Doorbell::line_to(ledger::ClientId other) {
    if (const auto known = lines_.find(other); known != lines_.end()) return known->second.get();
    if (lines_.size() >= most_lines) lines_.clear();
    const sockaddr_un address = address_of(folder_, other);
    Descriptor line(datagram_socket());
    if (connect(line.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return -1;
    }
    return lines_.emplace(other, std::move(line)).first->second.get();
}

void Doorbell::remove(const Folder& folder, ledger::ClientId client) noexcept {
    folder.remove(name_of(client));
}

void Doorbell::remove_all(const Folder& folder) noexcept {
    folder.remove_all(name_start);
}

void post(ledger::Table& table, const ledger::Told& told) {
    const char state = static_cast<char>(told.state);
    table.put(box_of(told.client) << told.nonce, {&state, 1});
}

std::vector<ledger::Told> take_mail(ledger::Table& table, ledger::ClientId client) {
    std::vector<ledger::Told> mail;
    const ledger::Key box = box_of(client);
    const std::string_view prefix = box;
    table.for_each(prefix, [&](const ledger::Table::Row& row) {
        ledger::Told told{.client = client, .nonce = {}, .state = {}};
        std::memcpy(told.nonce.bytes.data(), row.key.data() + prefix.size(),
                    told.nonce.bytes.size());
        told.state = static_cast<Standing::State>(row.value.front());
        mail.push_back(told);
        table.erase(box_of(client) << told.nonce);
    });
    return mail;
}

}  // namespace holdfast::inline v0::local
