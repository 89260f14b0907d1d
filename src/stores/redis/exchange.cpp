#include "stores/redis/exchange.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redis {

using namespace std::chrono_literals;

namespace {

/// While so many batches of requests are unanswered, further ones wait for the next answer and then
/// go out together: the server would not look at them earlier, and reads them at once.
constexpr std::size_t most_batches = 3;
/// So many requests at most are carried out by one script: the server does nothing else meanwhile.
constexpr std::size_t most_together = 32;
/// How long requests go out one by one when the server refuses them together, whatever the reason.
constexpr auto time_apart = 1s;
/// How long a server that is loading its data, or busy, is left alone.
constexpr auto passing_trouble = 50ms;

}  // namespace

// --- asking ---

bool Exchange::may_encode() const {
    if (batch_sizes_.size() >= most_batches || is_held_back()) return false;
    if (on_trial_ == 0) return !waiting().empty();
    return std::ranges::any_of(waiting(), [&](const auto& request) { return may_go(*request); });
}

bool Exchange::may_go(const Request& request) const {
    return on_trial_ == 0 || request.command.passes();
}

/// Those next to each other that one script can run are one request to the server.
void Exchange::encode(std::string& bytes) {
    batch_sizes_.push_back(0);
    // They may stand behind others that have to wait.
    if (on_trial_ > 0) put_first([&](const Request& request) { return may_go(request); });
    encode_libraries(bytes);
    std::size_t encoded = 0;
    while (encoded < waiting().size() && may_go(*waiting()[encoded])) {
        encoded += encode_group(encoded, bytes);
    }
    first_sent(encoded, BootClock::now());
}

void Exchange::expect(Expected answer) {
    expected_.push_back(answer);
    ++batch_sizes_.back();
}

void Exchange::encode_libraries(std::string& bytes) {
    while (const Script* const given = functions_.append_library(bytes)) {
        expect({.script = given});
    }
}

/// How many requests it is.
std::size_t Exchange::encode_group(std::size_t first, std::string& bytes) {
    if (waiting()[first]->asking) {
        Command{"ASKING"}.append_to(bytes);
        expect({});
    }
    const std::size_t size = size_of_group(first);
    const Way way = functions_.way(BootClock::now());
    for (std::size_t i = 0; i < size; ++i) {
        Command& command = waiting()[first + i]->command;
        command.go_by(way);
        if (!run_.empty()) command.sign(run_);
        group_.push_back(&command);
    }
    const Command& leader = *group_.front();
    if (size == 1) {
        leader.append_to(bytes);
        ask_for(leader.script(), leader.way(), size);
    } else {
        Command::append_together(group_, bytes);
        ask_for(leader.together(), Command::way_together(group_), size);
    }
    group_.clear();
    return size;
}

void Exchange::ask_for(const Script* script, Way way, std::size_t requests) {
    const bool is_known = script == nullptr || functions_.is_known(*script, way);
    if (!is_known) ++on_trial_;
    expect({requests, script, way, is_known});
}

std::size_t Exchange::size_of_group(std::size_t first) const {
    const Request& leader = *waiting()[first];
    const Script* const together = leader.command.together();
    if (together == nullptr || waiting().size() == 1 || BootClock::now() < apart_until_) return 1;
    if (leader.asking) return 1;
    const auto belongs = [&](const Request& other) {
        return other.command.together() == together && other.hash_slot == leader.hash_slot &&
               !other.asking && may_go(other);
    };
    const std::size_t most = std::min(most_together, waiting().size() - first);
    std::size_t size = 1;
    while (size < most && belongs(*waiting()[first + size])) ++size;
    return size;
}

// --- what is answered ---

/// That of one request, or of several that went out together. Of none: of what the server was
/// given, or that it is asked though it does not serve the key.
void Exchange::take(Reply reply, std::vector<Answered>& answered) {
    if (expected_.empty()) return;
    const Expected expected = expected_.front();
    expected_.pop_front();
    if (--batch_sizes_.front() == 0) batch_sizes_.pop_front();
    const std::size_t requests = expected.requests;
    if (requests == 0) {
        if (expected.script == nullptr) return;
        return functions_.given(*expected.script, reply, BootClock::now());
    }
    if (!expected.is_known) --on_trial_;
    if (reply.is_error() && ask_otherwise(expected, reply.text)) return;
    if (!expected.is_known) functions_.known(*expected.script, expected.way);
    net::make_room(answered, requests);
    if (requests > 1 && reply.elements.size() != requests) {
        return refused_together(reply, requests, answered);
    }
    for (std::size_t i = 0; i < requests && !in_flight().empty(); ++i) {
        settle(std::move(requests > 1 ? reply.elements[i] : reply), answered);
    }
}

/// Whether the server refused the way in which it was asked, and another one is left. It had no
/// effect.
bool Exchange::ask_otherwise(const Expected& expected, std::string_view error) {
    if (expected.script == nullptr) return false;
    const auto way = functions_.instead(*expected.script, expected.way, error, BootClock::now());
    if (!way) return false;
    for (std::size_t i = 0; i < expected.requests; ++i) {
        in_flight().front()->command.go_by(*way);
        send_answered_again();
    }
    return true;
}

/// They had no effect, and come again: elsewhere, or each alone. Of an answer that is none to them
/// all nobody can tell that.
void Exchange::refused_together(const Reply& reply, std::size_t requests,
                                std::vector<Answered>& answered) {
    const bool elsewhere = reply.is_error() && is_elsewhere(reply.text);
    if (!elsewhere) apart_until_ = BootClock::now() + time_apart;
    for (; requests > 0; --requests) {
        if (elsewhere) {
            Reply same = reply;
            answered.push_back({Base::answered(), std::move(same)});
        } else {
            if (!reply.is_error()) in_flight().front()->lost();
            send_answered_again();
        }
    }
}

void Exchange::settle(Reply reply, std::vector<Answered>& answered) {
    if (!reply.is_error() || !is_passing(reply.text)) {
        return answered.push_back({Base::answered(), std::move(reply)});
    }
    hold_back(BootClock::now() + passing_trouble);
    in_flight().front()->trouble = failure_of(reply.text, address_);
    send_answered_again();
}

Exchange::GivenUps Exchange::lost() {
    batch_sizes_.clear();
    expected_.clear();
    on_trial_ = 0;
    group_.clear();
    functions_.forget();
    return Base::lost();
}

}  // namespace holdfast::inline v0::redis
