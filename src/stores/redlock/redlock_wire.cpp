#include "stores/redlock/redlock_wire.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "stores/redis/failures.hpp"

namespace holdfast::inline v0::redlock {

using redis::Node;

namespace {

using namespace std::chrono_literals;

/// So long what is under way is left to whoever comes to wait for something.
constexpr auto patience_without_leader = 10ms;

}  // namespace

RedlockWire::RedlockWire(const Nodes& nodes, const std::string& channel)
    : request_timeout_(nodes.request_timeout()),
      bell_(interrupt_descriptor()),
      runs_(nodes.addresses.size()),
      listening_(nodes.addresses.size()) {
    for (const redis::Address& address : nodes.addresses) {
        nodes_.push_back(std::make_unique<Node>(address, redis::Pushes{.channel = channel},
                                                Node::Part::independent,
                                                [bell = bell_] { bell.ring(); }));
    }
}

RedlockWire::~RedlockWire() {
    close();
}

void RedlockWire::submit(std::size_t node, redis::Command command, Answered answered,
                         Moment until) {
    auto request = std::make_unique<redis::Request>(std::move(command), std::move(answered), until);
    Node& to = *nodes_[node];
    Lock lock(mutex_);
    request->number = ++submitted_;
    // Whoever leads may be asleep over a connection that nobody needed.
    const bool is_news = to.is_idle() && !to.is_connected();
    to.submit(std::move(request));
    if (to.may_send()) to.flush(lock);
    if (is_news || (to.is_connected() && to.needs_leader())) bell_.ring();
    lock.unlock();
    lead_by(BootClock::now() + patience_without_leader);
}

bool RedlockWire::is_connected(std::size_t node) const {
    const std::lock_guard guard(mutex_);
    return nodes_[node]->is_connected();
}

bool RedlockWire::is_in_trouble(std::size_t node) const {
    const std::lock_guard guard(mutex_);
    return nodes_[node]->is_in_trouble(BootClock::now());
}

void RedlockWire::at(Moment moment, Callback<void()> callback) {
    {
        const std::lock_guard guard(mutex_);
        alarms_.emplace(moment, std::move(callback));
    }
    bell_.ring();
    lead_by(moment);
}

void RedlockWire::listen(const std::vector<std::shared_ptr<Listener>>& listeners) {
    const std::lock_guard guard(mutex_);
    bool is_new = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) is_new |= listening_[i].want(listeners[i]);
    if (is_new) bell_.ring();
}

void RedlockWire::turn(std::optional<Moment> until, Due& due) {
    {
        Lock lock(mutex_);
        serve(BootClock::now(), due);
        // One may be connected by this, and then nothing comes in that would end the poll().
        flush_all(lock);
        see_to_the_rest();
        if (!due.empty()) return;
        const Moment first = std::min(until.value_or(Moment::max()), earliest());
        until = first == Moment::max() ? std::nullopt : std::optional(first);
        poll_for(polled_);
    }
    const bool is_time = poll(polled_.data(), polled_.size(), poll_timeout(until)) <= 0;
    if (is_time) {
        // Whoever leads may go now, and the pump may have left to it what it should see to.
        const Lock lock(mutex_);
        return see_to_the_rest();
    }
    if (polled_[0].revents != 0) take_interrupt();
    // Without the lock, which those who send need: a link is opened and closed by whoever leads
    // alone.
    auto rest = std::span(polled_).subspan(1);
    for (const auto& node : nodes_) {
        node->read(rest.first(Node::polled));
        rest = rest.subspan(Node::polled);
    }
    Lock lock(mutex_);
    take(due);
    flush_all(lock);
    see_to_the_rest();
}

/// Of some the answer is not waited for: most others have answered. All the same they are to be
/// connected to, and what is lost on the way is to be sent again. Now and then will do: were the
/// pump to lead all the while that one stands still, it would be in every caller's way.
void RedlockWire::see_to_the_rest() {
    const bool is_over =
        std::ranges::all_of(nodes_, [](const auto& node) { return node->is_idle(); });
    if (!is_over) return lead_by(BootClock::now() + patience_without_leader);
    if (!alarms_.empty()) lead_by(alarms_.begin()->first);
}

void RedlockWire::serve(Moment now, Due& due) {
    call_those_due(now, due);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i]->serve(now, listening_[i], due);
        look_at_run(i, now, due);
        if (listening_[i].wanted()) nodes_[i]->serve_pushes(now, listening_[i], due);
    }
}

/// Two names may lead to one server, and its vote would count twice.
void RedlockWire::look_at_run(std::size_t node, Moment now, Due& due) {
    const std::string_view run = nodes_[node]->run();
    if (run.empty()) return;
    const auto other = runs_.seen(node, run);
    if (!other) return;
    const Failure twice{errc::bad_configuration, Effect::none,
                        nodes_[node]->address().shown() + ": it is the same server as " +
                            nodes_[*other]->address().shown() + "; each node has one vote"};
    nodes_[node]->refused(twice, now, due);
}

void RedlockWire::call_those_due(Moment now, Due& due) {
    while (!alarms_.empty() && alarms_.begin()->first <= now) {
        due.push_back(std::move(alarms_.begin()->second));
        alarms_.erase(alarms_.begin());
    }
}

void RedlockWire::take(Due& due) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i]->take_answers(due, away_);
        nodes_[i]->take_pushes(listening_[i], due);
    }
    // Nobody else stands in for it: what it does not serve has no vote of its.
    for (auto& [node, request, error] : away_) {
        Failure failure = request->refused(redis::failure_of(error, node->address()));
        net::finish(std::move(request), std::move(failure), due);
    }
    away_.clear();
}

void RedlockWire::flush_all(Lock& lock) {
    for (const auto& node : nodes_) node->flush(lock);
}

void RedlockWire::poll_for(std::vector<pollfd>& descriptors) const {
    descriptors.clear();
    descriptors.push_back({.fd = interrupt_descriptor(), .events = POLLIN, .revents = 0});
    for (const auto& node : nodes_) node->poll_for(descriptors);
}

/// When the next thing is due by itself; never: Moment::max().
Moment RedlockWire::earliest() const {
    Moment first = alarms_.empty() ? Moment::max() : alarms_.begin()->first;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        first = std::min(first, nodes_[i]->earliest(listening_[i]));
        const bool sleeps = listening_[i].wanted() && nodes_[i]->is_deaf();
        if (sleeps) first = std::min(first, listening_[i].next_attempt());
    }
    return first;
}

}  // namespace holdfast::inline v0::redlock
