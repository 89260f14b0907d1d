#include "stores/sql/sql_store.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <holdfast/error.hpp>

#include "port/sentences.hpp"
#include "port/watchers.hpp"
#include "stores/sql/answers.hpp"
#include "stores/sql/calls.hpp"
#include "stores/sql/sql_wire.hpp"
#include "stores/sql/waiters.hpp"

namespace holdfast::inline v0::sql {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;

/// How long a delayed enter is refused after the leave that looked for it.
constexpr std::chrono::milliseconds tombstone_time = 1min;

/// Ends the place of a contender whose enter was sent more than once: a copy may still come.
constexpr char sent_again = '!';

/// How often one that nobody wants any more is taken out, while that is not answered: each takes up
/// to the request_timeout.
constexpr int most_withdrawals = 20;

class SqlStore final : public Store,
                       public SqlWire::Listener,
                       public std::enable_shared_from_this<SqlStore> {
public:
    SqlStore(const Address& address, Layout layout, const std::shared_ptr<const Dialect>& dialect)
        : description_(address.shown()),
          client_(dialect->client()),
          layout_(layout),
          calls_(layout),
          answers_(description_, calls_),
          wire_(address, dialect) {}

    /// Throws Error when the server cannot be reached, or not entered.
    void connect();

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override;
    Pending<Standing> standing(const Ticket& ticket) override;
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override;
    Pending<Standing> leave(const Ticket& ticket) override;
    Pending<std::vector<Line>> inspect(std::string prefix) override {
        Call first = calls_.inspect(prefix);
        return list(std::move(first), std::move(prefix));
    }
    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        if (const auto objection = calls_.objection_to(resource)) {
            return Failure{errc::invalid_argument, Effect::none, *objection};
        }
        return list(calls_.look_at(resource), resource);
    }
    Pending<SweepStep> sweep(const std::string& from) override {
        return submit<SweepStep>(
            Calls::sweep(from),
            [](const SqlStore& self, const Answer& answer) -> Result<SweepStep> {
                if (!answer.result.ok()) return answer.result.failure();
                return self.answers_.swept(answer.result.value());
            });
    }
    Capabilities capabilities() const override {
        // In a line that is shared with others nobody's turn is safe from them.
        if (layout_ == Layout::shedlock) {
            return {.barging = true, .default_fairness = Fairness::barging};
        }
        return {.fifo = true,
                .barging = true,
                .default_fairness = Fairness::fifo,
                .shared = true,
                .permits = true,
                .reenter = true,
                .enter_together = true};
    }
    Wire& wire() override { return wire_; }
    const std::string& description() const override { return description_; }

    void missed() override;
    void pushed(const std::string& message) override;

private:
    template <class T, class Read>
    Pending<T> submit(Call&& call, std::shared_ptr<Flight<T>> flight, Read read);
    template <class T, class Read>
    Pending<T> submit(Call&& call, Read read) {
        return submit<T>(std::move(call), std::make_shared<Flight<T>>(wire_), std::move(read));
    }

    /// What is found page by page, until all is there.
    struct Listing {
        std::string prefix;
        std::shared_ptr<Flight<std::vector<Line>>> flight;
        Reply found = {};
    };
    Pending<std::vector<Line>> list(Call first, std::string prefix);
    void ask_for_page(Call call, const std::shared_ptr<Listing>& listing);
    void take_page(Answer answer, const std::shared_ptr<Listing>& listing);
    void expect(std::span<const Contender> contenders);
    Result<std::vector<Entry>> entered(const Answer& answer, std::span<const Contender> contenders);
    Result<std::vector<Standing>> renewed(const Answer& answer, std::span<const Ticket> tickets,
                                          std::span<const std::size_t> order);
    Result<Standing> left(const Answer& answer) const;
    void take_back(const Result<std::vector<Entry>>& result, std::span<const Contender> contenders);
    void withdraw(std::span<const Contender> contenders);
    void withdraw(const Ticket& ticket, int tries = most_withdrawals);
    void settled(const Nonce& nonce, const Standing& standing);
    void ask_for(const Ticket& ticket);
    void woken();

    const std::string description_;
    const std::string client_;
    const Layout layout_;
    const Calls calls_;
    const Answers answers_;
    Waiters waiters_;
    const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
    SqlWire wire_;
};

/// `read` turns the answer into the result. A store that is gone meanwhile has nobody to tell.
template <class T, class Read>
Pending<T> SqlStore::submit(Call&& call, std::shared_ptr<Flight<T>> flight, Read read) {
    wire_.submit(std::move(call),
                 [weak = weak_from_this(), flight, read = std::move(read)](const Answer& answer) {
                     if (const auto self = weak.lock()) flight->complete(read(*self, answer));
                 });
    return Pending<T>(std::move(flight));
}

/// Asks for what makes the tables too, if they are not there: so a lack of rights is told here.
void SqlStore::connect() {
    const auto flight = std::make_shared<Flight<Reply>>(wire_);
    wire_.submit(calls_.look_at(""),
                 [flight](Answer answer) { flight->complete(std::move(answer.result)); });
    const auto looked = Pending<Reply>(flight).get();
    if (!looked.ok()) throw Error(looked.failure().code, looked.failure().sentence);
}

Pending<std::vector<Entry>> SqlStore::enter(std::span<const Contender> contenders) {
    for (const Contender& one : contenders) {
        if (const auto objection = calls_.objection_to(one.resource)) {
            return Failure{errc::invalid_argument, Effect::none, *objection};
        }
    }
    auto asked =
        std::make_shared<const std::vector<Contender>>(contenders.begin(), contenders.end());
    auto flight = std::make_shared<Flight<std::vector<Entry>>>(wire_);
    flight->on_orphan([weak = weak_from_this(), asked](const auto& result) {
        if (const auto self = weak.lock()) self->take_back(result, *asked);
    });
    expect(contenders);
    return submit<std::vector<Entry>>(
        calls_.enter(contenders, client_), std::move(flight),
        [asked](SqlStore& self, const Answer& answer) { return self.entered(answer, *asked); });
}

/// Before it is sent: what concerns it may be told before it is answered.
void SqlStore::expect(std::span<const Contender> contenders) {
    const std::uint64_t period = wire_.listening();
    if (period == 0) return;
    for (const Contender& one : contenders) {
        if (one.patience == Patience::none) continue;
        waiters_.add({one.resource, one.nonce, {}}, period);
    }
}

Result<std::vector<Entry>> SqlStore::entered(const Answer& answer,
                                             std::span<const Contender> contenders) {
    auto result = answer.result.ok() ? answers_.entries(answer.result.value(), contenders)
                                     : Result<std::vector<Entry>>(answer.result.failure());
    const std::size_t looked_at = result.ok() ? result.value().size() : 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        settled(contenders[i].nonce, i < looked_at ? result.value()[i].standing : Standing{});
    }
    if (!answer.repeated) return result;
    // Whoever is not in line now may still come to be, by a copy that is on its way.
    if (!result.ok()) {
        Failure failure = result.failure();
        failure.effect = Effect::unknown;
        return failure;
    }
    if (result.value().back().standing.state == State::gone) withdraw(contenders);
    for (Entry& entry : result.value()) entry.ticket.place += sent_again;
    return result;
}

/// Takes out what of a request may be in line, or may yet come.
void SqlStore::withdraw(std::span<const Contender> contenders) {
    for (const Contender& one : contenders) withdraw(Ticket{one.resource, one.nonce, {}});
}

/// Does not rest before it is answered. Without a place in the ticket it plants a tombstone.
void SqlStore::withdraw(const Ticket& ticket, int tries) {
    leave(ticket).then([weak = weak_from_this(), ticket, tries](const Result<Standing>& result) {
        const auto self = weak.lock();
        if (self && !result.ok() && tries > 1) self->withdraw(ticket, tries - 1);
    });
}

/// Nobody wants the answer any more.
void SqlStore::take_back(const Result<std::vector<Entry>>& result,
                         std::span<const Contender> contenders) {
    if (result.ok()) {
        for (const Entry& entry : result.value()) withdraw(entry.ticket);
    } else if (result.failure().effect == Effect::unknown) {
        withdraw(contenders);
    }
}

Pending<Standing> SqlStore::standing(const Ticket& ticket) {
    return submit<Standing>(
        calls_.standing(ticket),
        [nonce = ticket.nonce](SqlStore& self, const Answer& answer) -> Result<Standing> {
            if (!answer.result.ok()) return answer.result.failure();
            auto result = self.answers_.standing(answer.result.value());
            if (result.ok()) self.settled(nonce, result.value());
            return result;
        });
}

/// Sorted by name, as every request takes several rows, so that two never wait for each other.
Pending<std::vector<Standing>> SqlStore::renew(std::span<const Ticket> tickets,
                                               Extension extension) {
    std::vector<std::size_t> order(tickets.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) -> const auto& { return tickets[i].resource; });
    std::vector<Ticket> sorted;
    sorted.reserve(tickets.size());
    for (const std::size_t i : order) sorted.push_back(tickets[i]);
    Call call = calls_.renew(sorted, extension);
    return submit<std::vector<Standing>>(
        std::move(call),
        [sorted = std::move(sorted), order = std::move(order)](
            SqlStore& self, const Answer& answer) { return self.renewed(answer, sorted, order); });
}

Result<std::vector<Standing>> SqlStore::renewed(const Answer& answer,
                                                std::span<const Ticket> tickets,
                                                std::span<const std::size_t> order) {
    if (!answer.result.ok()) return answer.result.failure();
    auto result = answers_.standings(answer.result.value(), tickets.size());
    if (!result.ok()) return result;
    std::vector<Standing> standings(tickets.size());
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        settled(tickets[i].nonce, result.value()[i]);
        standings[order[i]] = result.value()[i];
    }
    return standings;
}

Pending<Standing> SqlStore::leave(const Ticket& ticket) {
    waiters_.remove(ticket.nonce);
    const bool may_come_again = ticket.place.empty() || ticket.place.back() == sent_again;
    return submit<Standing>(
        calls_.leave(ticket, may_come_again ? tombstone_time : 0ms),
        [](const SqlStore& self, const Answer& answer) { return self.left(answer); });
}

Result<Standing> SqlStore::left(const Answer& answer) const {
    if (!answer.result.ok()) return answer.result.failure();
    auto result = answers_.standing(answer.result.value());
    if (result.ok() && answer.repeated && result.value().state == State::gone) {
        return perhaps_done(description_);
    }
    return result;
}

Pending<std::vector<Line>> SqlStore::list(Call first, std::string prefix) {
    auto flight = std::make_shared<Flight<std::vector<Line>>>(wire_);
    auto listing = std::make_shared<Listing>(Listing{std::move(prefix), flight});
    ask_for_page(std::move(first), listing);
    return Pending<std::vector<Line>>(std::move(flight));
}

/// Each is a request of its own: however many there are, none takes long.
void SqlStore::ask_for_page(Call call, const std::shared_ptr<Listing>& listing) {
    wire_.submit(std::move(call), [weak = weak_from_this(), listing](Answer answer) {
        if (const auto self = weak.lock()) self->take_page(std::move(answer), listing);
    });
}

void SqlStore::take_page(Answer answer, const std::shared_ptr<Listing>& listing) {
    if (!answer.result.ok()) return listing->flight->complete(answer.result.failure());
    Reply& page = answer.result.value();
    const auto next = take_next_page(page);
    auto& rows = listing->found.rows;
    std::ranges::move(page.rows, std::back_inserter(rows));
    if (next) return ask_for_page(calls_.inspect(listing->prefix, *next), listing);
    listing->flight->complete(answers_.lines(listing->found));
}

std::unique_ptr<Watch> SqlStore::watch(const Ticket& ticket, LineMoved line_moved) {
    auto watch = watchers_->add(ticket.nonce, std::move(line_moved));
    const auto known = waiters_.period_of(ticket.nonce);
    if (!known) waiters_.add(ticket, 0);
    const std::uint64_t period = wire_.listening();
    if (period == 0) {
        // Once it is heard, everybody who waits is asked for.
        wire_.listen(weak_from_this());
    } else if (known != period) {
        ask_for(ticket);
    } else if (const auto early = waiters_.take(ticket.nonce)) {
        watchers_->call(ticket.nonce, *early);
    }
    return watch;
}

void SqlStore::missed() {
    for (const Ticket& ticket : waiters_.all()) {
        if (watchers_->watches(ticket.nonce)) ask_for(ticket);
    }
}

/// Asks where it stands, and tells what is news.
void SqlStore::ask_for(const Ticket& ticket) {
    standing(ticket).then([watchers = watchers_, nonce = ticket.nonce](const auto& result) {
        // It could not be asked for: it is to do so itself, until it is answered.
        if (!result.ok()) return watchers->call(nonce, {.state = State::waiting});
        const Standing& standing = result.value();
        if (standing.state == State::waiting && !standing.look_again) return;
        watchers->call(nonce, standing);
    });
}

/// Where one waits there is no doubt whom it concerns: it claims at once, and the row decides.
void SqlStore::woken() {
    const auto waiting = waiters_.all();
    if (waiting.size() == 1) watchers_->call(waiting[0].nonce, {.state = State::offered});
}

/// Kept first and then looked for, and the other way round in watch(): so one of the two finds it.
void SqlStore::pushed(const std::string& message) {
    if (message == woken_by_somebody) return woken();
    const auto told = told_by(message);
    if (!told) return;
    waiters_.keep(told->nonce, told->standing);
    if (!watchers_->watches(told->nonce)) return;
    if (const auto kept = waiters_.take(told->nonce)) watchers_->call(told->nonce, *kept);
}

void SqlStore::settled(const Nonce& nonce, const Standing& standing) {
    const bool over = standing.state == State::admitted || standing.state == State::gone;
    if (over) waiters_.remove(nonce);
}

}  // namespace

std::shared_ptr<Store> open_sql(const Address& address, Layout layout,
                                const std::shared_ptr<const Dialect>& dialect) {
    const auto store = std::make_shared<SqlStore>(address, layout, dialect);
    store->connect();
    return store;
}

}  // namespace holdfast::inline v0::sql
