#include "stores/redis/informant.hpp"

#include <algorithm>
#include <utility>

#include "port/sentences.hpp"

namespace holdfast::inline v0::redis {

namespace {

using namespace std::chrono_literals;

/// How often whoever leads looks at one that is followed, at the least.
constexpr auto glance_interval = 2s;
/// After so long nobody has led all the time.
constexpr auto absence = glance_interval + 100ms;

bool is_message(const Reply& reply) {
    return reply.elements.size() == 3 && reply.elements[0].text == "message";
}

std::vector<Command> following(const Address& address, const std::string& channel) {
    auto greeting = entering(address);
    greeting.push_back({"SUBSCRIBE", channel});
    return greeting;
}

}  // namespace

Informant::Informant(Address address, std::vector<Command> question, const std::string& channel,
                     const std::function<void()>& resolved)
    : address_(std::move(address)),
      question_(std::move(question)),
      questions_(address_, entering(address_), resolved),
      tidings_(address_, following(address_, channel), resolved) {}

void Informant::ask(Moment now) {
    if (until_) return;
    until_ = now + address_.request_timeout;
    sent_ = false;
    told_.reset();
    questions_.open(now);
    go_on_asking(now);
}

std::optional<Informant::Told> Informant::take_answer() {
    return std::exchange(told_, std::nullopt);
}

void Informant::dismiss() {
    questions_.close();
    until_.reset();
    told_.reset();
    unsent_.clear();
    replies_.clear();
    broken_.reset();
}

void Informant::follow(Moment now) {
    if (std::exchange(followed_, true)) return;
    looked_ = now;
    go_on_following(now);
}

bool Informant::take_gap() {
    return std::exchange(gap_, false);
}

void Informant::go_on(Moment now) {
    if (followed_ && now >= std::exchange(looked_, now) + absence) overlooked(now);
    if (until_) go_on_asking(now);
    if (followed_) go_on_following(now);
}

void Informant::go_on_asking(Moment now) {
    if (auto failure =
            questions_.ready() ? std::exchange(broken_, std::nullopt) : questions_.advance(now)) {
        return ended(*std::move(failure));
    }
    if (questions_.ready()) send_question();
    if (sent_ && replies_.size() >= question_.size()) return ended(std::exchange(replies_, {}));
    if (now >= *until_) ended(timed_out(address_.shown(), address_.request_timeout));
}

void Informant::send_question() {
    if (!std::exchange(sent_, true)) {
        replies_.clear();
        for (const Command& command : question_) command.append_to(unsent_);
    }
    if (unsent_.empty()) return;
    const auto transfer = questions_.socket()->write(unsent_);
    unsent_.erase(0, transfer.bytes);
}

/// A connection that failed is of no use for the next question.
void Informant::ended(Told told) {
    if (!told.ok()) dismiss();
    until_.reset();
    told_ = std::move(told);
}

/// What is on its way to us may have been for as long.
void Informant::overlooked(Moment now) {
    doubtful_ = true;
    if (tidings_.ready()) {
        put_in_question(now);
    } else if (const auto end = tidings_.deadline(); end && now >= *end) {
        // An attempt that nobody saw to is not late.
        tidings_.close();
    }
    if (until_) dismiss();
}

void Informant::put_in_question(Moment now) {
    probe_.ask(now);
    in_question_ = doubtful_ = true;
}

void Informant::hear(Moment now) {
    if (tidings_heard_.empty()) return;
    probe_.heard(now);
    for (const Reply& heard : tidings_heard_) {
        if (!is_message(heard)) probe_.answered();
    }
    if (probe_.is_answered()) in_question_ = false;
}

void Informant::go_on_following(Moment now) {
    hear(now);
    if (tidings_.ready() && probe_.is_overlooked(now)) put_in_question(now);
    if (tidings_.ready() && !probe_.go_on(tidings_, now)) tidings_broken_ = true;
    if (std::exchange(tidings_broken_, false)) {
        tidings_.close();
        probe_.end();
        backoff_.failed(now);
        gap_ = doubtful_ = was_lost_ = true;
        in_question_ = false;
    }
    if (tidings_.state() == Link::State::down) {
        if (now < backoff_.next()) return;
        tidings_.open(now);
    }
    if (tidings_.ready()) return;
    if (tidings_.advance(now)) return backoff_.failed(now);
    if (!tidings_.ready()) return;
    backoff_.succeeded();
    probe_.heard(now);
    gap_ = true;
    doubtful_ |= was_lost_;
}

void Informant::poll_for(std::vector<pollfd>& descriptors) const {
    pollfd questions{.fd = questions_.descriptor(), .events = questions_.wanted(), .revents = 0};
    if (!unsent_.empty()) questions.events |= POLLOUT;
    descriptors.push_back(questions);
    pollfd tidings{.fd = tidings_.descriptor(), .events = tidings_.wanted(), .revents = 0};
    if (probe_.wants_room()) tidings.events |= POLLOUT;
    descriptors.push_back(tidings);
}

void Informant::read(std::span<const pollfd> descriptors) {
    if (descriptors[0].revents != 0 && questions_.ready()) {
        broken_ = questions_.receive(replies_);
        // Nobody waits for it: the server may close what stands idle.
        if (broken_ && !until_) dismiss();
    }
    if (descriptors[1].revents != 0 && tidings_.ready()) {
        if (tidings_.receive(tidings_heard_)) tidings_broken_ = true;
    }
}

Moment Informant::earliest() const {
    Moment first = Moment::max();
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(until_);
    if (until_) also(questions_.deadline());
    if (followed_) also(tidings_.deadline());
    if (followed_) also(looked_ + glance_interval);
    also(probe_.earliest());
    if (followed_ && tidings_.state() == Link::State::down) also(backoff_.next());
    return first;
}

}  // namespace holdfast::inline v0::redis
