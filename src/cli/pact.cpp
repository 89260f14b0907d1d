#include "cli/pact.hpp"

#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace holdfast::cli {
namespace {

void* shared_page(std::size_t size) {
    void* const page =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return page;
}

}  // namespace

Pact::Pact() : page_(new (shared_page(sizeof(Page))) Page) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    wardens_end_ = Descriptor(ends[0]);
    wrappers_end_ = Descriptor(ends[1]);
}

Pact::~Pact() {
    munmap(page_, sizeof(Page));
}

void Pact::pass_on(const Arrived& signal) const noexcept {
    // One that finds no room is one of hundreds that were not read: no news.
    send(wardens_end_.get(), &signal, sizeof signal, MSG_NOSIGNAL);
}

std::optional<Arrived> Pact::next() {
    Arrived arrived;
    const auto size = recv(wrappers_end_.get(), &arrived, sizeof arrived, 0);
    if (size == sizeof arrived) return arrived;
    const bool nothing_yet = size < 0 && (errno == EAGAIN || errno == EINTR);
    if (nothing_yet || wrappers_end_.get() < 0) return std::nullopt;
    wrappers_end_ = Descriptor();
    return Arrived{.number = SIGKILL, .from_terminal = false};
}

/// It need not even be received: it is open while it is on its way.
void Pact::leave_with_warden(int descriptor) const {
    char nothing = 0;
    iovec content{&nothing, sizeof nothing};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    if (sendmsg(wrappers_end_.get(), &message, MSG_NOSIGNAL) < 0 && errno != EPIPE) {
        throw std::system_error(errno, std::generic_category(), "sendmsg");
    }
}

}  // namespace holdfast::cli
