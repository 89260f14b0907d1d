#include "cli/pact.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

namespace holdfast::cli {
namespace {

void* shared_memory(std::size_t size) {
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return memory;
}

template <class Message>
void send_to(int socket, const Message& message) noexcept {
    // One that finds no room is one of hundreds that nobody has read; one for nobody is no loss.
    send(socket, &message, sizeof message, MSG_NOSIGNAL);
}

/// A message with room for one descriptor.
template <class Content>
class Envelope {
public:
    explicit Envelope(Content& content) : part_{&content, sizeof content} {
        message_.msg_iov = &part_;
        message_.msg_iovlen = 1;
        message_.msg_control = control_.data();
        message_.msg_controllen = control_.size();
    }
    Envelope(const Envelope&) = delete;
    Envelope& operator=(const Envelope&) = delete;

    msghdr* message() { return &message_; }

    void enclose(int descriptor) {
        cmsghdr* const header = CMSG_FIRSTHDR(&message_);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }

    /// Once it was received; -1 if there is none.
    int enclosed() {
        int descriptor = -1;
        if (const cmsghdr* const header = CMSG_FIRSTHDR(&message_)) {
            std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
        }
        return descriptor;
    }

private:
    iovec part_;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
    msghdr message_{};
};

/// Closes the socket when the other side is gone. A descriptor that comes along goes to `kept`.
template <class Message>
std::optional<Message> receive_from(Descriptor& socket, Descriptor& kept) {
    Message message;
    for (;;) {
        Envelope envelope(message);
        const auto size = recvmsg(socket.get(), envelope.message(), MSG_CMSG_CLOEXEC);
        // The other side went without reading all of ours: told once, before what it has said.
        if (size < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
        if (size == 0 || (size < 0 && errno != EAGAIN)) socket = Descriptor();
        if (size != sizeof message) return std::nullopt;
        if (const int descriptor = envelope.enclosed(); descriptor >= 0) {
            kept = Descriptor(descriptor);
        }
        return message;
    }
}

}  // namespace

Pact::Pact(std::size_t room_for_variables)
    : size_(sizeof(Page) + room_for_variables), page_(new (shared_memory(size_)) Page) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    wrappers_end_ = Descriptor(ends[0]);
    wardens_end_ = Descriptor(ends[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    word_heard_ = Descriptor(ends[0]);
    word_given_ = Descriptor(ends[1]);
}

Pact::~Pact() {
    munmap(page_, size_);
}

void Pact::become_wrapper() {
    wardens_end_ = Descriptor();
    word_heard_ = Descriptor();
}
void Pact::become_warden() {
    wrappers_end_ = Descriptor();
    word_given_ = Descriptor();
}
void Pact::become_command() {
    wardens_end_ = Descriptor();
}

void Pact::dissolve() {
    wrappers_end_ = Descriptor();
    word_given_ = Descriptor();
}

void Pact::start(std::span<const std::string> variables) {
    char* end = variables_begin();
    for (const std::string& variable : variables) {
        page_->variables_size += variable.size() + 1;
        if (sizeof(Page) + page_->variables_size > size_) {
            throw std::length_error("the command's variables are longer than expected");
        }
        end = static_cast<char*>(std::memcpy(end, variable.c_str(), variable.size() + 1)) +
              variable.size() + 1;
    }
    page_->started = true;
    send(Order{.what = Order::What::look});
    ::send(word_given_.get(), "!", 1, MSG_NOSIGNAL);
}

bool Pact::wait_for_start() const {
    char word = 0;
    ssize_t size = 0;
    do {
        size = read(word_heard_.get(), &word, sizeof word);
    } while (size < 0 && errno == EINTR);
    return size == sizeof word;
}

std::vector<std::string> Pact::variables() const {
    std::vector<std::string> result;
    const char* const end = variables_begin() + page_->variables_size;
    for (const char* one = variables_begin(); one < end; one += result.back().size() + 1) {
        result.emplace_back(one);
    }
    return result;
}

void Pact::send(const Order& order) const noexcept {
    send_to(wrappers_end_.get(), order);
}
void Pact::send(const Report& report) const noexcept {
    send_to(wardens_end_.get(), report);
}

std::optional<Pact::Order> Pact::next_order() {
    if (wardens_end_.get() < 0) return std::nullopt;
    return receive_from<Order>(wardens_end_, kept_);
}

std::optional<Pact::Report> Pact::next_report() {
    if (wrappers_end_.get() < 0) return std::nullopt;
    const auto report = receive_from<Report>(wrappers_end_, kept_);
    if (!report && wrappers_end_.get() < 0) return Report{.what = Report::What::gone};
    return report;
}

Pact::Readiness Pact::readiness() {
    constexpr int milliseconds_to_say_so = 10'000;
    for (;;) {
        while (const auto report = next_report()) {
            ready_ = report->what == Report::What::ready;
            if (report->what == Report::What::ended) return Readiness::command_gone;
            if (!ready_) return Readiness::warden_gone;
        }
        if (ready_) return Readiness::ready;
        pollfd source{wrappers_end_.get(), POLLIN, 0};
        if (poll(&source, 1, milliseconds_to_say_so) == 0) return Readiness::warden_gone;
    }
}

int Pact::descriptor() const noexcept {
    return wrappers_end_.get() >= 0 ? wrappers_end_.get() : wardens_end_.get();
}

void Pact::leave_with_warden(int descriptor) {
    shares_life_ = true;
    Order order{.what = Order::What::keep};
    Envelope envelope(order);
    envelope.enclose(descriptor);
    const bool sent = sendmsg(wrappers_end_.get(), envelope.message(), MSG_NOSIGNAL) >= 0;
    // That the warden is gone is told before anything is started. Else nothing may be: killed, we
    // would be taken for dead while the command lives.
    if (sent || errno == EPIPE || errno == ECONNRESET) return;
    throw std::system_error(errno, std::generic_category(),
                            "the process that guards the command cannot be given the store's");
}

}  // namespace holdfast::cli
