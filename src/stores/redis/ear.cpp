#include "stores/redis/ear.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::redis {

namespace {

/// The last two answers are the connection's number and the confirmed subscription.
std::vector<Command> greeting_of(const Address& address, Part part, const std::string& channel) {
    auto greeting = entering(address, part);
    greeting.push_back({"CLIENT", "ID"});
    greeting.push_back({"SUBSCRIBE", channel});
    return greeting;
}

}  // namespace

Ear::Ear(const Address& address, Part part, const std::string& channel,
         const std::function<void()>& resolved)
    : link_(address, greeting_of(address, part, channel), resolved, part),
      probe_(address.request_timeout) {}

std::int64_t Ear::number() const {
    const auto& greeted = link_.greeted();
    return greeted[greeted.size() - 2].integer;
}

Ear::Hearing Ear::serve(Moment now, Listening& listening, Due& due) {
    if (is_deaf()) {
        if (now < listening.next_attempt()) return Hearing::goes_on;
        link_.open(now);
    }
    if (failure_) return lost(now, listening, due);
    if (link_.ready()) {
        return probe_.go_on(link_, now) ? Hearing::goes_on : lost(now, listening, due);
    }
    if (link_.advance(now)) return lost(now, listening, due);
    if (!link_.ready()) return Hearing::goes_on;
    probe_.heard(BootClock::now());
    return Hearing::begins;
}

Ear::Hearing Ear::lost(Moment now, Listening& listening, Due& due) {
    listening.lost(now, due);
    close();
    return Hearing::lost;
}

void Ear::close() {
    link_.close();
    probe_.end();
    messages_.clear();
    failure_.reset();
}

pollfd Ear::awaited() const {
    pollfd polled{.fd = link_.descriptor(), .events = link_.wanted(), .revents = 0};
    if (probe_.wants_room()) polled.events |= POLLOUT;
    return polled;
}

void Ear::read(short events) {
    if (events != 0 && link_.ready() && !failure_) failure_ = link_.receive(messages_);
}

Ear::Hearing Ear::take(Listening& listening, Due& due) {
    // Whatever comes shows that it is alive.
    if (!messages_.empty()) probe_.heard(BootClock::now());
    try {
        for (Reply& message : messages_) listening.heard(std::move(message), due);
    } catch (...) {
        // What was not told was not heard.
        failure_.emplace();
        messages_.clear();
        throw;
    }
    messages_.clear();
    return failure_ ? lost(BootClock::now(), listening, due) : Hearing::goes_on;
}

Moment Ear::earliest() const {
    return std::min(link_.deadline().value_or(Moment::max()), probe_.earliest());
}

}  // namespace holdfast::inline v0::redis
