#include "stores/local/station.hpp"

#include <sys/epoll.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <utility>

namespace holdfast::inline v0::local {

namespace {

/// Ids of clients are random and larger.
constexpr std::uint64_t interrupted = 0;
constexpr std::uint64_t rung = 1;

}  // namespace

Station::Station(const Folder& folder, Duties& duties)
    : folder_(folder), duties_(duties), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) folder_.fail_with(errno, "cannot be waited for");
    add(interrupt_descriptor(), interrupted);
}

Station::~Station() {
    close();
}

void Station::listen(int doorbell) {
    add(doorbell, rung);
}

void Station::add(int descriptor, std::uint64_t key) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = key;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        folder_.fail_with(errno, "cannot be waited for");
    }
}

void Station::leave_to_leader(Callback<void()> callback) {
    {
        const std::lock_guard guard(mutex_);
        left_.push_back(std::move(callback));
    }
    wake_leader();
}

void Station::wake_leader() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!write(interrupt_descriptor(), &one, sizeof one));
}

void Station::turn(std::optional<Moment> until, Due& due) {
    if (const auto look = duties_.next_look()) until = until ? std::min(*until, *look) : look;
    std::array<epoll_event, 16> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 poll_timeout(until));
    for (int i = 0; i < count; ++i) serve(events[static_cast<std::size_t>(i)].data.u64, due);
    duties_.look_around(due);
    const std::lock_guard guard(mutex_);
    std::ranges::move(left_, std::back_inserter(due));
    left_.clear();
}

void Station::serve(std::uint64_t key, Due& due) {
    switch (key) {
        case interrupted:
            return take_interrupt();
        case rung:
            return duties_.hear(due);
        default:
            return duties_.process_ended(key, due);
    }
}

}  // namespace holdfast::inline v0::local
