#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "port/sentences.hpp"
#include "stores/listed/listed_store.hpp"

namespace holdfast::inline v0::listed {

/// The way of contenders into their lines, as far as it is the same on every server that lists: how
/// the last one that has come in is judged, and what is answered. Answers its flight once; nothing
/// of them is left in line when it answers that the last one is gone.
///
///     judged ──▶ admitted, or waits
///      ▲    └──▶ taken out (it will not wait, or others use it otherwise), while it is not the
///      └──────── first: else it may be one by now by which others are judged
template <class Server>
class Entering {
public:
    /// Where something has thrown (no memory, say) and nobody goes on with it, whoever asked is
    /// told all the same.
    virtual ~Entering() {
        const auto protocol = protocol_.lock();
        if (is_answered() || !protocol) return;
        try {
            flight_->complete(Failure{errc::unreachable, Effect::unknown,
                                      protocol->shown() + ": this process could not go on with it; "
                                                          "it may be out of memory"});
        } catch (...) {
            // It was told, and has thrown.
        }
    }

protected:
    using Entries = std::vector<Entry>;
    using Outcome = Result<Entries>;
    using Flight = Protocol::EntryFlight;

    Entering(const std::shared_ptr<Server>& protocol, std::span<const Contender> contenders,
             std::shared_ptr<Flight> flight, Moment deadline)
        : protocol_(protocol),
          contenders_(contenders.begin(), contenders.end()),
          deadline_(deadline),
          flight_(std::move(flight)) {}

    /// The last one that has come in, by the list of its line up to that change.
    void judged(Server& protocol, Entrant entrant, std::span<const Neighbour> line,
                std::int64_t listed_at) {
        const auto judgement = judge(line, entrant.node);
        entrant.disagreed = disagreed_;
        switch (judgement.verdict) {
            case Judgement::Verdict::admitted:
                protocol.lines.admitted_at_once(entrant, line);
                return came_in(protocol, std::move(entrant));
            case Judgement::Verdict::waits:
                if (entrant.contender.patience == Patience::none) {
                    return take_out(protocol, entrant, judgement.barred_by, gone());
                }
                protocol.lines.place(entrant, judgement, listed_at);
                return came_in(protocol, std::move(entrant));
            case Judgement::Verdict::conflict:
                disagreed_ = true;
                return take_out(protocol, entrant, judgement.barred_by,
                                in_conflict(entrant.contender, judgement));
            case Judgement::Verdict::absent:
                outcome_ = gone();
                return vanished(protocol);
        }
    }

    /// It stays, as it was judged.
    virtual void came_in(Server& protocol, Entrant entrant) = 0;
    /// Its session has ended, or somebody has removed it, before it was listed.
    virtual void vanished(Server& protocol) = 0;
    /// Ends it while the other one is there, and answers the outcome then. Else it is judged again.
    virtual void take_out_behind(Server& protocol, const Entrant& entrant,
                                 const Neighbour& other) = 0;
    /// Answers, once.
    virtual void complete(Outcome outcome) {
        std::exchange(flight_, nullptr)->complete(std::move(outcome));
    }
    bool is_answered() const noexcept { return flight_ == nullptr; }
    bool is_wanted() const { return flight_->is_wanted(); }
    /// Nothing of them is in line.
    virtual void finish_gone() { complete(gone()); }

    /// They were taken out.
    void finish_out() { outcome_.ok() ? finish_gone() : fail(outcome_.failure()); }
    void fail(Failure failure) {
        if (repeated_) failure.effect = Effect::unknown;
        complete(std::move(failure));
    }
    void fail_unknown(Failure failure) {
        failure.effect = Effect::unknown;
        complete(std::move(failure));
    }

    static Failure in_conflict(const Contender& contender, const Judgement& judgement) {
        return conflict({judgement.capacity_ahead}, {contender.capacity, contender.fairness});
    }
    static Entry entry_of(const Entrant& entrant, std::optional<Moment> counted_from) {
        return {.ticket = entrant.ticket(),
                .standing = {.state = entrant.admitted ? Standing::State::admitted
                                                       : Standing::State::waiting,
                             .fence = entrant.admitted ? entrant.fence : 0,
                             .counted_from = counted_from}};
    }
    Entries gone() const {
        const Contender& last = contenders_.back();
        return {{.ticket = {last.resource, last.nonce, {}}, .standing = {}}};
    }
    bool has_time() const { return BootClock::now() < deadline_; }

    const std::weak_ptr<Server> protocol_;
    const std::vector<Contender> contenders_;
    Moment deadline_;
    Moment sent_{};          ///< the last request that made them, or found them
    bool repeated_ = false;  ///< a copy of that may still arrive
    /// What is answered when they are taken out.
    Outcome outcome_ = Entries{};

private:
    void take_out(Server& protocol, const Entrant& entrant, const Neighbour& other,
                  Outcome outcome) {
        outcome_ = std::move(outcome);
        take_out_behind(protocol, entrant, other);
    }

    std::shared_ptr<Flight> flight_;
    bool disagreed_ = false;  ///< see Entrant
};

}  // namespace holdfast::inline v0::listed
