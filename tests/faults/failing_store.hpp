#pragma once

#include <mutex>

#include "support/passing_store.hpp"
#include "support/suite.hpp"

namespace holdfast::test {

/// How a call fails.
enum class Failing {
    no_effect,        ///< it never left
    applied_unheard,  ///< the store did it, and the answer was lost
    lost,             ///< it never arrived, but nobody can know
};

/// Any store, one of whose calls fails.
class FailingStore final : public PassingStore {
public:
    using PassingStore::PassingStore;

    /// The call with this number fails, counted from 1 and from the start; 0: none.
    void fail(std::size_t number, Failing how) {
        how_ = how;
        failing_ = number;
    }
    std::size_t calls() const { return calls_; }
    std::size_t renewals() const { return renewals_; }
    bool failed() const { return failing_ != 0 && calls_ >= failing_; }

    Pending<std::vector<Entry>> enter(std::span<const Contender> contenders) override {
        return pass<std::vector<Entry>>([&] { return inner().enter(contenders); });
    }
    Pending<Standing> standing(const Ticket& ticket) override {
        ++looks_;
        return pass<Standing>([&] { return inner().standing(ticket); });
    }
    Pending<std::vector<Standing>> renew(std::span<const Ticket> tickets,
                                         Extension extension) override {
        ++renewals_;
        return pass<std::vector<Standing>>([&] { return inner().renew(tickets, extension); });
    }
    Pending<Standing> leave(const Ticket& ticket) override {
        return pass<Standing>([&] { return inner().leave(ticket); });
    }
    std::unique_ptr<Watch> watch(const Ticket& ticket, LineMoved line_moved) override {
        const std::lock_guard guard(mutex_);
        watcher_ = std::make_shared<LineMoved>(std::move(line_moved));
        return inner().watch(ticket,
                             [told = watcher_](const Standing& standing) { (*told)(standing); });
    }
    /// Tells whoever watched last, as a push would.
    void tell(const Standing& standing) const { (*watcher())(standing); }
    bool is_watched() const { return watcher() != nullptr; }
    std::size_t looks() const { return looks_; }
    Capabilities capabilities() const override {
        auto capabilities = PassingStore::capabilities();
        capabilities.enter_together = capabilities.enter_together && enters_together;
        return capabilities;
    }

    bool enters_together = true;

private:
    std::shared_ptr<LineMoved> watcher() const {
        const std::lock_guard guard(mutex_);
        return watcher_;
    }
    template <class T, class Verb>
    Pending<T> pass(Verb verb) {
        if (++calls_ != failing_) return verb();
        if (how_ == Failing::no_effect) {
            return Failure{errc::unreachable, Effect::none, "failed on purpose"};
        }
        if (how_ == Failing::applied_unheard) verb().then([](const Result<T>&) {});
        return Failure{errc::unreachable, Effect::unknown, "failed on purpose"};
    }

    std::atomic<Failing> how_{Failing::no_effect};
    std::atomic<std::size_t> failing_{0};
    std::atomic<std::size_t> calls_{0};
    std::atomic<std::size_t> renewals_{0};
    std::atomic<std::size_t> looks_{0};
    mutable std::mutex mutex_;
    std::shared_ptr<LineMoved> watcher_;
};

}  // namespace holdfast::test
