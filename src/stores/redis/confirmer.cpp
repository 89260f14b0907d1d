#include "stores/redis/confirmer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/redis/failures.hpp"
#include "stores/redis/redis_scripts.hpp"

namespace holdfast::inline v0::redis {

using namespace std::chrono_literals;

namespace {

/// So long a round waits for replicas. What was answered meanwhile waits for the next one.
constexpr auto round_time = 200ms;
/// How long a server that has no time just now is left alone.
constexpr auto time_when_busy = 50ms;
/// Role, write and wait.
constexpr std::size_t answers_of_round = 3;

/// Beside the keys of that request, so that the same node of a cluster serves it.
std::string key_beside(const Request& request) {
    const std::string_view key = request.command.first_key().value_or("{holdfast/000}");
    return std::string(key.substr(0, key.find('}') + 1)) + "#confirmed";
}

}  // namespace

Confirmer::Confirmer(const Address& address, Part part, std::vector<Command> greeting,
                     const std::function<void()>& resolved)
    : address_(address),
      write_(scripts::confirm),
      link_(address, std::move(greeting), resolved, part) {}

void Confirmer::knows_of(std::size_t replicas) noexcept {
    known_ = std::max(known_, replicas);
}

void Confirmer::add(std::unique_ptr<Request>&& request, Reply reply) {
    confirmations_.add(std::move(request), std::move(reply));
}

void Confirmer::serve(Moment now, Due& due) {
    if (now >= confirmations_.earliest_deadline()) confirmations_.expire(now, too_few(), due);
    if (!link_.ready()) return;
    if (may_begin() && now >= next_round_) begin_round(now);
    send();
}

bool Confirmer::may_begin() const noexcept {
    return !confirmations_.empty() && !confirmations_.is_round_under_way();
}

void Confirmer::begin_round(Moment now) {
    Command{"ROLE"}.append_to(unsent_);
    // Behind all that was answered.
    Command write(write_, 1);
    write.go_by(Way::text);
    (write << key_beside(confirmations_.first())).append_to(unsent_);
    Command wait{"WAIT"};
    wait << std::uint64_t{needed(address_.replicas, known_)} << std::int64_t{round_time.count()};
    wait.append_to(unsent_);
    confirmations_.begin_round();
    round_ends_ = now + round_time;
}

void Confirmer::send() {
    if (unsent_.empty()) return;
    // What is wrong with the connection, reading will find out.
    unsent_.erase(0, link_.socket()->write(unsent_).bytes);
}

std::optional<Failure> Confirmer::take(std::vector<Reply>& replies, Due& due) {
    for (Reply& reply : replies) {
        answers_.push_back(std::move(reply));
        if (answers_.size() < answers_of_round) continue;
        if (auto failure = end_round(due)) return failure;
    }
    replies.clear();
    return std::nullopt;
}

std::optional<Failure> Confirmer::end_round(Due& due) {
    const auto answers = std::exchange(answers_, {});
    round_ends_ = Moment::max();
    // Without the write the wait was for nothing.
    const auto refused = std::ranges::find_if(answers, &Reply::is_error);
    if (refused != answers.end()) {
        if (!is_passing(refused->text)) return trouble_with(refused->text);
        next_round_ = BootClock::now() + time_when_busy;
        confirmations_.not_confirmed();
        return std::nullopt;
    }
    knows_of(replicas_in(answers[0]));
    confirming_ = static_cast<std::size_t>(std::max<std::int64_t>(answers[2].integer, 0));
    if (answers[2].kind == Reply::Kind::integer &&
        confirming_ >= needed(address_.replicas, known_)) {
        confirmations_.confirmed(due);
    } else {
        confirmations_.not_confirmed();
    }
    return std::nullopt;
}

/// When another server has what was to be confirmed, asking again will find that out.
Failure Confirmer::trouble_with(const std::string& error) const {
    Failure failure = failure_of(error, address_);
    if (is_elsewhere(error)) failure.code = errc::unreachable;
    return failure;
}

void Confirmer::close() noexcept {
    link_.close();
    unsent_.clear();
    answers_.clear();
    round_ends_ = Moment::max();
}

Moment Confirmer::patience_ends() const noexcept {
    if (round_ends_ == Moment::max()) return Moment::max();
    return round_ends_ + address_.request_timeout;
}

Moment Confirmer::earliest() const {
    const Moment first = std::min(patience_ends(), confirmations_.earliest_deadline());
    return may_begin() ? std::min(first, next_round_) : first;
}

Failure Confirmer::too_few() const {
    return {errc::unreachable, Effect::unknown,
            address_.shown() + ": " + std::to_string(confirming_) + " of its replicas confirmed " +
                "it in time, and " + std::to_string(needed(address_.replicas, known_)) +
                " must (the parameter replicas); check that they run and follow it"};
}

}  // namespace holdfast::inline v0::redis
