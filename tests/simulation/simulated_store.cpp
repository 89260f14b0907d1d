#include "simulation/simulated_store.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace holdfast::simulation {

using namespace std::chrono_literals;

namespace {

Failure no_answer() {
    return {errc::unreachable, Effect::unknown, "no answer in time"};
}
Failure refused() {
    return {errc::unreachable, Effect::none, "connection refused"};
}

std::string names(std::span<const Contender> contenders) {
    std::string list;
    for (const Contender& contender : contenders) {
        list += ' ' + contender.resource + '*' + std::to_string(contender.weight);
    }
    return list;
}

/// Says `offered` or asks to look again, after ~Watch nothing.
class SimulatedWatch final : public Watch {
public:
    struct Line {
        LineMoved moved;
        bool open = true;
    };

    SimulatedWatch(std::shared_ptr<Line> line, std::shared_ptr<Store> server)
        : line_(std::move(line)), server_(std::move(server)) {}
    ~SimulatedWatch() override { line_->open = false; }

    std::unique_ptr<Watch> registered;

private:
    std::shared_ptr<Line> line_;
    std::shared_ptr<Store> server_;
};

}  // namespace

template <class T>
struct SimulatedStore::Call {
    std::uint64_t id = 0;
    std::string what;
    Verb<T> verb;
    std::shared_ptr<Flight<T>> flight;
    bool reply_lost = false;
};

Pending<std::vector<Entry>> SimulatedStore::enter(std::span<const Contender> contenders) {
    std::vector<Contender> copies(contenders.begin(), contenders.end());
    if (server_.fault() == Fault::ignores_capacity) {
        for (Contender& contender : copies) contender.weight = 1, contender.capacity = all;
    }
    if (server_.fault() == Fault::keeps_ghosts) {
        for (Contender& contender : copies) contender.lease = 24h;
    }
    return send<std::vector<Entry>>("enter" + names(contenders),
                                    [this, copies](Store& store) -> Result<std::vector<Entry>> {
                                        auto result = store.enter(copies).get();
                                        if (!result.ok()) return result;
                                        auto entries = std::move(result).value();
                                        if (server_.fault() == Fault::repeats_a_fence) {
                                            for (Entry& entry : entries)
                                                entry.standing.fence &= ~std::uint64_t{0xffffff};
                                        }
                                        server_.note(entries);
                                        return entries;
                                    });
}

Pending<Standing> SimulatedStore::standing(const Ticket& ticket) {
    return send<Standing>("standing " + ticket.resource, [this, ticket](Store& store) {
        if (server_.fault() == Fault::loses_sight_of_waiters) {
            return Result<Standing>(Standing{.state = Standing::State::waiting});
        }
        return store.standing(ticket).get();
    });
}

Pending<std::vector<Standing>> SimulatedStore::renew(std::span<const Ticket> tickets,
                                                     Extension extension) {
    std::vector<Ticket> copies(tickets.begin(), tickets.end());
    if (server_.fault() == Fault::keeps_ghosts) extension.lease = 24h;
    std::string what = "renew";
    for (const Ticket& ticket : tickets) what += ' ' + ticket.resource;
    using Standings = std::vector<Standing>;
    return send<Standings>(what, [this, copies, extension](Store& store) -> Result<Standings> {
        auto result = store.renew(copies, extension).get();
        if (!result.ok()) return result;
        Standings standings = std::move(result).value();
        for (std::size_t i = 0; i < standings.size(); ++i) {
            using State = Standing::State;
            if (server_.fault() == Fault::renews_what_is_gone &&
                standings[i].state == State::gone) {
                standings[i] = {.state = State::admitted,
                                .fence = server_.last_fence_of(copies[i].nonce)};
            } else if (server_.fault() == Fault::loses_sight_of_waiters) {
                if (standings[i].fence == 0) standings[i] = {.state = State::waiting};
            } else {
                server_.note(copies[i], standings[i]);
            }
        }
        return standings;
    });
}

Pending<Standing> SimulatedStore::leave(const Ticket& ticket) {
    return send<Standing>("leave " + ticket.resource,
                          [ticket](Store& store) { return store.leave(ticket).get(); });
}

Pending<std::vector<Line>> SimulatedStore::inspect(std::string prefix) {
    return send<std::vector<Line>>("inspect",
                                   [prefix](Store& store) { return store.inspect(prefix).get(); });
}

std::unique_ptr<Watch> SimulatedStore::watch(const Ticket& ticket, LineMoved line_moved) {
    auto line = std::make_shared<SimulatedWatch::Line>();
    line->moved = std::move(line_moved);
    auto watch = std::make_unique<SimulatedWatch>(line, server_.store());
    watch->registered = server_.store()->watch(ticket, [this, line](const Standing& standing) {
        if (server_.fault() == Fault::loses_sight_of_waiters) return;
        if (cut() || random_.chance(weather_.push_lost)) return;
        world_.at(world_.now() + one_way(), who_, [line, standing] {
            if (line->open) line->moved(standing);
        });
    });
    return watch;
}

Capabilities SimulatedStore::capabilities() const {
    auto capabilities = server_.store()->capabilities();
    capabilities.enter_together = enters_together;
    return capabilities;
}

template <class T>
Pending<T> SimulatedStore::send(std::string what, Verb<T> verb) {
    if (dismantled_) return Failure{errc::unreachable, Effect::none, "it is over"};
    if (answers_at_once) return answer_now<T>(what, verb);
    auto call = std::make_shared<Call<T>>();
    call->id = ++last_call_;
    call->what = std::to_string(who_) + " " + std::move(what);
    call->verb = std::move(verb);
    call->flight = std::make_shared<Flight<T>>(wire_);
    world_.trace([&] { return call->what + " sent"; });
    open_calls_[call->id] = [this, call] { answer<T>(*call, refused()); };

    const Time now = world_.now();
    const Time gives_up = clock_.when(clock_.now() + request_timeout);
    world_.at(gives_up, who_, [this, call] { answer<T>(*call, no_answer()); });
    if (random_.chance(weather_.refused)) {
        world_.at(now + one_way(), who_, [this, call] { answer<T>(*call, refused()); });
        return Pending<T>(call->flight);
    }
    if (cut() || random_.chance(weather_.request_lost)) return Pending<T>(call->flight);
    call->reply_lost = random_.chance(weather_.reply_lost);
    const auto on_its_way = [&] {
        return random_.chance(weather_.late) ? random_.between(weather_.slowest, weather_.latest)
                                             : one_way();
    };
    const int copies = random_.chance(weather_.repeated) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
        world_.at(now + on_its_way(), the_world, [this, call] { land(call); });
    }
    return Pending<T>(call->flight);
}

/// The request has arrived at the server.
template <class T>
void SimulatedStore::land(const std::shared_ptr<Call<T>>& call) {
    auto result = std::make_shared<Result<T>>(apply(call->what, call->verb));
    if (call->reply_lost || cut()) return;
    world_.at(world_.now() + one_way(), who_,
              [this, call, result] { answer<T>(*call, std::move(*result)); });
}

template <class T>
Result<T> SimulatedStore::apply(const std::string& what, const Verb<T>& verb) {
    world_.trace([&] { return what + " lands"; });
    return verb(*server_.store());
}

template <class T>
void SimulatedStore::answer(Call<T>& call, Result<T> result) {
    const auto open = open_calls_.find(call.id);
    if (open == open_calls_.end()) return;
    // It owns the call.
    const auto closed = std::move(open->second);
    open_calls_.erase(open);
    world_.trace([&] {
        return call.what + (result.ok() ? " answered" : " fails: " + result.failure().sentence);
    });
    if (result.ok() && server_.fault() == Fault::counts_from_the_answer) {
        count_from_now(result.value());
    }
    call.flight->complete(std::move(result));
}

template <class T>
Pending<T> SimulatedStore::answer_now(const std::string& what, const Verb<T>& verb) {
    world_.trace([&] { return std::to_string(who_) + " " + what + " at once"; });
    if (random_.chance(weather_.refused)) return refused();
    if (cut() || random_.chance(weather_.request_lost)) return no_answer();
    if (random_.chance(weather_.late)) {
        world_.at(world_.now() + random_.between(weather_.slowest, weather_.latest), the_world,
                  [this, what, verb] { static_cast<void>(apply(what, verb)); });
        return no_answer();
    }
    auto result = apply(what, verb);
    if (random_.chance(weather_.reply_lost)) return no_answer();
    return result;
}

void SimulatedStore::count_from_now(std::vector<Entry>& entries) const {
    for (Entry& entry : entries) entry.standing.counted_from = clock_.now();
}

void SimulatedStore::count_from_now(std::vector<Standing>& standings) const {
    for (Standing& standing : standings) standing.counted_from = clock_.now();
}

void SimulatedStore::dismantle() {
    dismantled_ = true;
    while (!open_calls_.empty()) {
        const auto fail = std::move(open_calls_.begin()->second);
        if (!fail) break;
        fail();
    }
}

}  // namespace holdfast::simulation
