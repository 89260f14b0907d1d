#include "chaos/broken_stores.hpp"

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "support/passing_store.hpp"

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;
using State = Standing::State;
using test::PassingStore;

/// What outlives a chaos, if nobody takes it out.
constexpr auto very_long = 1h;

template <class T>
Result<T> answer_of(Pending<T> pending) {
    std::optional<Result<T>> answer;
    std::move(pending).then([&](Result<T> result) { answer.emplace(std::move(result)); });
    return *std::move(answer);
}

/// One that knows who asked, and what they were told.
class Remembering : public PassingStore {
public:
    using PassingStore::PassingStore;

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        auto answer = answer_of(inner().enter(contenders));
        if (!answer.ok()) return answer;
        for (std::size_t i = 0; i < answer.value().size(); ++i) {
            remember(contenders[i]);
            see(contenders[i].nonce, answer.value()[i].standing);
        }
        return answer;
    }
    Pending<Standing> standing(const Ticket& ticket) override {
        auto answer = answer_of(inner().standing(ticket));
        if (answer.ok()) see(ticket.nonce, answer.value());
        return answer;
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        auto answer = answer_of(inner().renew(tickets, extension));
        if (!answer.ok()) return answer;
        for (std::size_t i = 0; i < tickets.size(); ++i) {
            see(tickets[i].nonce, answer.value()[i]);
        }
        return answer;
    }

protected:
    struct Known {
        Contender contender;
        std::uint64_t fence = 0;  ///< of one that was admitted
    };

    /// May make something else of what one is told.
    virtual void see(const Nonce& nonce, Standing& standing) { note(nonce, standing); }

    void note(const Nonce& nonce, const Standing& standing) {
        const std::lock_guard guard(mutex_);
        if (standing.state == State::admitted) known_[nonce].fence = standing.fence;
    }
    std::optional<Known> known(const Nonce& nonce) {
        const std::lock_guard guard(mutex_);
        const auto found = known_.find(nonce);
        if (found == known_.end()) return std::nullopt;
        return found->second;
    }
    std::vector<Place> holders_of(const std::string& resource) {
        const auto lines = answer_of(inner().look_at(resource));
        for (const Line& line : lines.value()) {
            if (line.resource == resource) return line.holders;
        }
        return {};
    }

private:
    void remember(const Contender& contender) {
        const std::lock_guard guard(mutex_);
        known_[contender.nonce].contender = contender;
    }

    std::mutex mutex_;
    std::map<Nonce, Known> known_;
};

/// Whoever is gone, and finds the lock free again, goes on with it as if nobody had been there.
class RenewingByUpsert final : public Remembering {
    using Remembering::Remembering;
    void see(const Nonce& nonce, Standing& standing) override {
        const auto one = known(nonce);
        if (standing.state == State::gone && one && one->fence != 0) {
            Contender again = one->contender;
            again.patience = Patience::none;
            const auto entered = answer_of(inner().enter({&again, 1}));
            if (entered.ok() && entered.value().front().standing.state == State::admitted) {
                standing = {.state = State::admitted, .fence = one->fence};
            }
        }
        note(nonce, standing);
    }
};

/// Gives back whatever is held, whose hold it is.
class LeavingWithoutOwner final : public Remembering {
    using Remembering::Remembering;
    Pending<Standing> leave(const Ticket& ticket) override {
        auto answer = answer_of(inner().leave(ticket));
        if (answer.ok() && answer.value().state == State::gone) {
            for (const Place& one : holders_of(ticket.resource)) {
                static_cast<void>(answer_of(inner().leave(one.ticket)));
            }
        }
        return answer;
    }
};

class GivingFencesAgain final : public Remembering {
    using Remembering::Remembering;
    void see(const Nonce&, Standing& standing) override { standing.fence %= 97; }
};

/// Whoever waits hears nothing, nor that it waits no more.
class LosingWakes final : public Remembering {
    using Remembering::Remembering;
    std::unique_ptr<Watch> watch(const Ticket&, LineMoved) override {
        return std::make_unique<Watch>();
    }
    void see(const Nonce& nonce, Standing& standing) override {
        standing.look_again.reset();
        const auto one = known(nonce);
        const bool is_new = !one || has_waited_.count(nonce) == 0;
        if (is_new && standing.state != State::admitted) has_waited_.insert(nonce);
        if (!is_new && standing.state != State::gone) standing = {.state = State::waiting};
        note(nonce, standing);
    }
    std::set<Nonce> has_waited_;
};

/// Requests and answers take their time, and leases count from the answer.
class CountingFromTheAnswer final : public Remembering {
    using Remembering::Remembering;
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        if (++renewals_ % 3 == 0) std::this_thread::sleep_for(700ms);
        auto answer = answer_of(Remembering::renew(tickets, extension));
        std::this_thread::sleep_for(250ms);
        if (!answer.ok()) return answer;
        for (Standing& one : answer.value()) one.counted_from = BootClock::now();
        return answer;
    }
    std::atomic<int> renewals_ = 0;
};

/// Whatever a renewal is answered, the hold is kept.
class KeepingWhatIsGone final : public Remembering {
    using Remembering::Remembering;
    void see(const Nonce& nonce, Standing& standing) override {
        const auto one = known(nonce);
        if (one && one->fence != 0) standing = {.state = State::admitted, .fence = one->fence};
        note(nonce, standing);
    }
};

/// A late copy of a deletion ends the next hold of the same client.
class DeletingTwice final : public Remembering {
    using Remembering::Remembering;
    Pending<Standing> leave(const Ticket& ticket) override {
        auto answer = answer_of(inner().leave(ticket));
        for (const Place& one : holders_of(ticket.resource)) {
            if (one.pid == getpid()) static_cast<void>(answer_of(inner().leave(one.ticket)));
        }
        return answer;
    }
};

/// Whoever waited is admitted when nobody is ahead any more, also when its own place is gone.
class AdmittingWithoutPlace final : public Remembering {
    using Remembering::Remembering;
    void see(const Nonce& nonce, Standing& standing) override {
        const auto one = known(nonce);
        if (one && one->fence == 0 && standing.state == State::gone) {
            const auto holders = holders_of(one->contender.resource);
            const std::uint64_t fence = holders.empty() ? 0 : holders.front().fence;
            standing = {.state = State::admitted, .fence = fence + 1};
        }
        note(nonce, standing);
    }
};

/// A claim comes again now and then when its contender has left, and nothing refuses it.
class TakingLateClaims final : public Remembering {
    using Remembering::Remembering;
    Pending<Standing> leave(const Ticket& ticket) override {
        auto answer = answer_of(inner().leave(ticket));
        const auto one = known(ticket.nonce);
        if (one && ++left_ % 20 == 0) {
            Contender late = one->contender;
            late.nonce.bytes[0] ^= std::byte{0xff};
            late.lease = very_long;
            late.patience = Patience::none;
            static_cast<void>(answer_of(inner().enter({&late, 1})));
        }
        return answer;
    }
    std::atomic<int> left_ = 0;
};

/// Fails in the middle, with the lock written and nobody to own it.
class WritingTheLockFirst final : public Remembering {
    using Remembering::Remembering;
    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        if (++entered_ % 50 != 0) return Remembering::enter(contenders);
        std::vector<Contender> half(contenders.begin(), contenders.end());
        for (Contender& one : half) one.lease = very_long;
        static_cast<void>(answer_of(inner().enter(half)));
        return Failure{errc::unreachable, Effect::none, "a right is missing"};
    }
    std::atomic<int> entered_ = 0;
};

template <class Broken>
std::shared_ptr<Store> make(std::shared_ptr<Store> store) {
    return std::make_shared<Broken>(std::move(store));
}

using Make = std::shared_ptr<Store> (*)(std::shared_ptr<Store>);

const std::map<std::string, Make>& ways() {
    static const std::map<std::string, Make> all{
        {"renews_by_upsert", make<RenewingByUpsert>},
        {"leaves_without_owner", make<LeavingWithoutOwner>},
        {"gives_fences_again", make<GivingFencesAgain>},
        {"loses_wakes", make<LosingWakes>},
        {"counts_from_the_answer", make<CountingFromTheAnswer>},
        {"keeps_what_is_gone", make<KeepingWhatIsGone>},
        {"deletes_twice", make<DeletingTwice>},
        {"admits_without_place", make<AdmittingWithoutPlace>},
        {"takes_late_claims", make<TakingLateClaims>},
        {"writes_the_lock_first", make<WritingTheLockFirst>},
    };
    return all;
}

}  // namespace

std::vector<std::string> ways_to_break_a_store() {
    std::vector<std::string> names;
    for (const auto& [name, make] : ways()) names.push_back(name);
    return names;
}

std::shared_ptr<Store> broken(const std::string& way, std::shared_ptr<Store> store) {
    return ways().at(way)(std::move(store));
}

}  // namespace holdfast::chaos
