#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/error.hpp>

#include "port/sentences.hpp"
#include "port/store.hpp"
#include "port/unanswered.hpp"
#include "stores/scripted/inspection.hpp"
#include "stores/scripted/protocol.hpp"
#include "stores/scripted/under_way.hpp"
#include "stores/scripted/waiters.hpp"

namespace holdfast::inline v0::scripted {

/// How long a delayed enter is refused after the leave that looked for it.
inline constexpr std::chrono::milliseconds tombstone_time = std::chrono::minutes{1};
/// How often a tombstone is tried to be planted in the background. Each try is as patient as any
/// request, so they last as long as one would.
inline constexpr int most_withdrawals = 20;

/// One that knows what to ask its servers: see Store::examine().
template <class T>
concept Examines = requires(T& protocol) {
    { protocol.examine() } -> std::same_as<Result<Examination>>;
};

/// Locks on a server that runs our code: it decides who is admitted, and tells whose turn it is.
/// Here is what is done about answers that are lost, late or doubled, and about pushes that are.
template <Protocol P>
class ScriptedStore final : public Store,
                            public P::Wire::Listener,
                            public std::enable_shared_from_this<ScriptedStore<P>> {
public:
    /// Of what the protocol is made of.
    template <class... Parts>
    explicit ScriptedStore(Parts&&... parts) : protocol_(std::forward<Parts>(parts)...) {}

    /// Throws Error when the server cannot be reached in time, or not entered.
    void connect() {
        const auto flight = std::make_shared<Flight<Reply>>(wire());
        wire().submit(protocol_.requests().greeting(),
                      [flight](Answer answer) { flight->complete(std::move(answer.result)); });
        const auto greeted = Pending<Reply>(flight).get();
        if (!greeted.ok()) throw Error(greeted.failure().code, greeted.failure().sentence);
    }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        for (const Contender& one : contenders) {
            if (auto objection = protocol_.requests().objection_to(one))
                return refused(*std::move(objection));
        }
        const auto entering = std::make_shared<Entering>(wire(), contenders);
        entering->flight.on_orphan([weak = weak(), asked = entering.get()](const auto& result) {
            if (const auto self = weak.lock()) self->take_back(result, asked->contenders);
        });
        expect(contenders);
        wire().submit(protocol_.requests().enter(contenders),
                      [weak = weak(), entering](const Answer& answer) {
                          const auto self = weak.lock();
                          if (!self) return;
                          entering->flight.complete_with(
                              [&] { return self->entered(answer, entering->contenders); });
                      });
        return Pending<std::vector<Entry>>({entering, &entering->flight});
    }

    Pending<Standing> standing(const Ticket& ticket) override {
        if (is_over(ticket)) return Standing{};
        return submit<Standing>(
            protocol_.requests().standing(ticket),
            [nonce = ticket.nonce](ScriptedStore& self, const Answer& answer) -> Result<Standing> {
                const auto result = self.standings_in(answer, 1);
                if (!result.ok()) return result.failure();
                self.waiters_.settled(nonce, result.value().front());
                return result.value().front();
            });
    }

    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        auto watch = waiters_.watch(ticket, std::move(line_moved));
        const std::uint64_t period = wire().listening();
        if (period == 0) {
            // Once it is heard, everybody who waits is asked for.
            wire().listen(weak());
        } else if (waiters_.has_heard_all_in(period, ticket.nonce)) {
            waiters_.tell_what_was_kept(ticket.nonce);
        } else {
            ask_for(ticket);
        }
        return watch;
    }

    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        for (const Ticket& one : tickets) {
            auto objection = protocol_.requests().objection_to(one, extension.lease);
            if (objection) return refused(*std::move(objection));
        }
        const auto renewing = std::make_shared<Renewing>(wire(), tickets, extension);
        auto batches = protocol_.requests().renewals(tickets, living(tickets), extension);
        if (batches.empty()) return std::move(renewing->standings);
        renewing->due = batches.size();
        for (auto& [request, which] : batches) {
            wire().submit(std::move(request), [weak = weak(), renewing,
                                               these = std::move(which)](const Answer& answer) {
                if (const auto self = weak.lock()) self->renewed(*renewing, these, answer);
            });
        }
        return Pending<std::vector<Standing>>({renewing, &renewing->flight});
    }

    Pending<Standing> leave(const Ticket& ticket) override {
        const auto leaving = std::make_shared<Leaving>(wire(), waiters_.leave(ticket));
        const auto tombstone =
            leaving->departure.plants_tombstone ? tombstone_time : std::chrono::milliseconds{0};
        wire().submit(protocol_.requests().leave(ticket, tombstone), [weak = weak(), leaving](
                                                                         const Answer& answer) {
            const auto self = weak.lock();
            if (!self) return;
            leaving->flight.complete_with([&] { return self->left(leaving->departure, answer); });
        });
        return Pending<Standing>({leaving, &leaving->flight});
    }

    Pending<std::vector<Line>> inspect(std::string prefix) override {
        auto listing = protocol_.listing(std::move(prefix));
        if (!listing.ok()) return listing.failure();
        return list(std::move(listing).value());
    }

    Pending<std::vector<Line>> look_at(const std::string& resource) override {
        if (auto objection = protocol_.requests().objection_to(resource)) {
            return refused(*std::move(objection));
        }
        return list(protocol_.listing_of_one(resource));
    }

    Pending<SweepStep> sweep(const std::string& from) override {
        if constexpr (Sweeps<P>) {
            return submit<SweepStep>(
                protocol_.requests().sweep(from),
                [](const ScriptedStore& self, const Answer& answer) -> Result<SweepStep> {
                    if (!answer.result.ok()) return answer.result.failure();
                    return self.protocol_.answers().swept(answer.result.value());
                });
        } else {
            return Store::sweep(from);
        }
    }

    Capabilities capabilities() const override {
        const Capabilities all_of_them = protocol_.requests().capabilities();
        if constexpr (Limits<P>) {
            return protocol_.limited(all_of_them);
        } else {
            return all_of_them;
        }
    }
    bool in_order() const noexcept override { return !Passes<P>; }
    Result<Examination> examine() override {
        if constexpr (Examines<P>) {
            return protocol_.examine();
        } else {
            return Store::examine();
        }
    }
    typename P::Wire& wire() override { return protocol_.wire(); }
    const std::string& description() const override { return protocol_.description(); }

    void missed() override {
        for (const Ticket& ticket : waiters_.watched()) ask_for(ticket);
    }
    void pushed(const typename P::Message& message) override {
        const News news = protocol_.answers().news(message);
        if (news.whom == News::Whom::everybody) return missed();
        waiters_.tell(news);
    }

private:
    using Answer = typename P::Answer;
    using Reply = typename P::Reply;
    using State = Standing::State;

    std::weak_ptr<ScriptedStore> weak() { return this->weak_from_this(); }

    static Failure refused(std::string objection) {
        return {errc::invalid_argument, Effect::none, std::move(objection)};
    }

    /// `read` turns the answer into the result. A store that is gone meanwhile has nobody to tell.
    template <class T, class Read>
    Pending<T> submit(typename P::Request request, Read read) {
        auto flight = std::make_shared<Flight<T>>(wire());
        wire().submit(std::move(request), [weak = weak(), flight, read](const Answer& answer) {
            const auto self = weak.lock();
            if (self) flight->complete_with([&] { return read(*self, answer); });
        });
        return Pending<T>(std::move(flight));
    }

    /// Before it is sent: what concerns it may be pushed before it is answered.
    void expect(std::span<const Contender> contenders) {
        const std::uint64_t period = wire().listening();
        for (const Contender& one : contenders) {
            if (one.patience == Patience::wait) waiters_.expect(one, period);
        }
    }

    Result<std::vector<Entry>> entered(const Answer& answer,
                                       std::span<const Contender> contenders) {
        auto result = entries_in(answer, contenders);
        forget_all_but_waiters(result, contenders);
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
    Result<std::vector<Entry>> entries_in(const Answer& answer,
                                          std::span<const Contender> contenders) const {
        if (!answer.result.ok()) return answer.result.failure();
        return protocol_.answers().entries(answer.result.value(), contenders);
    }
    void forget_all_but_waiters(const Result<std::vector<Entry>>& result,
                                std::span<const Contender> contenders) {
        const std::size_t looked_at = result.ok() ? result.value().size() : 0;
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            const State state = i < looked_at ? result.value()[i].standing.state : State::gone;
            const bool is_in_line = state == State::waiting || state == State::offered;
            if (!is_in_line) waiters_.forget(contenders[i].nonce);
        }
    }

    /// Nobody wants the answer any more.
    void take_back(const Result<std::vector<Entry>>& result,
                   std::span<const Contender> contenders) {
        if (result.ok() || result.failure().effect == Effect::unknown) withdraw(contenders);
    }
    /// Takes out what of a request may be in line, or may yet come.
    void withdraw(std::span<const Contender> contenders) {
        for (const Contender& one : contenders) withdraw(Ticket{one.resource, one.nonce, {}});
    }
    /// Plants a tombstone, for it names no place, and does not rest before that is answered.
    void withdraw(const Ticket& ticket, int tries = most_withdrawals) {
        leave({ticket.resource, ticket.nonce, {}})
            .then([weak = weak(), ticket, tries](const Result<Standing>& result) {
                const auto self = weak.lock();
                if (self && !result.ok() && tries > 1) self->withdraw(ticket, tries - 1);
            });
    }

    /// Where only this client can tell that a waiter's lease has ended, it leaves no more by
    /// itself. So it is forgotten here, or it would be called instead of those behind it. A copy of
    /// what it sent may still be on its way, and is not to take the lock for nobody.
    bool is_over(const Ticket& ticket) {
        if (!waiters_.is_over(ticket.nonce)) return false;
        waiters_.settled(ticket.nonce, Standing{});
        withdraw(ticket);
        return true;
    }
    std::vector<std::size_t> living(std::span<const Ticket> tickets) {
        std::vector<std::size_t> which;
        which.reserve(tickets.size());
        for (std::size_t i = 0; i < tickets.size(); ++i) {
            if (!is_over(tickets[i])) which.push_back(i);
        }
        return which;
    }

    void renewed(Renewing& renewing, std::span<const std::size_t> which, const Answer& answer) {
        auto result = or_out_of_memory<std::vector<Standing>>(
            [&] { return settled(renewing, which, answer); });
        if (renewing.take(which, std::move(result))) renewing.flight.complete(renewing.outcome());
    }
    Result<std::vector<Standing>> settled(const Renewing& renewing,
                                          std::span<const std::size_t> which,
                                          const Answer& answer) {
        auto result = standings_in(answer, which.size());
        const bool copies_are_left =
            answer.repeated || (!result.ok() && result.failure().effect == Effect::unknown);
        for (std::size_t i = 0; i < which.size(); ++i) {
            const Nonce& nonce = renewing.nonces[which[i]];
            if (!copies_are_left) waiters_.claim_ended(nonce, renewing.extension.serial);
            if (!result.ok()) continue;
            const Standing& standing = result.value()[i];
            if (is_unanswered(standing)) continue;
            if (standing.state == State::waiting) waiters_.goes_on(nonce, renewing.lease_end);
            waiters_.settled(nonce, standing);
        }
        return result;
    }
    Result<std::vector<Standing>> standings_in(const Answer& answer, std::size_t count) const {
        if (!answer.result.ok()) return answer.result.failure();
        return protocol_.answers().standings(answer.result.value(), count);
    }

    Result<Standing> left(const Departure& departure, const Answer& answer) {
        auto result = stood_in(answer);
        waiters_.left(departure, result);
        return result;
    }
    Result<Standing> stood_in(const Answer& answer) const {
        if (!answer.result.ok()) return answer.result.failure();
        auto result = protocol_.answers().left(answer.result.value());
        const bool found_nothing = result.ok() && result.value().state == State::gone;
        if (found_nothing && answer.repeated) return perhaps_done(description());
        return result;
    }

    Pending<std::vector<Line>> list(typename P::Listing listing) {
        return std::make_shared<Inspection<P>>(protocol_, weak(), std::move(listing))->start();
    }

    /// Asks where it stands, and tells what is news.
    void ask_for(const Ticket& ticket) {
        standing(ticket).then([weak = weak(), nonce = ticket.nonce](const auto& result) {
            if (const auto self = weak.lock()) self->waiters_.tell_answer(nonce, result);
        });
    }

    P protocol_;
    Waiters& waiters_ = protocol_.waiters();
};

}  // namespace holdfast::inline v0::scripted
