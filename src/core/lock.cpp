#include "core/lock.hpp"

#include <algorithm>
#include <utility>

#include "core/lease.hpp"

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;
using End = Acquisition::End;

namespace {

constexpr std::size_t longest_name = 4096;
constexpr std::size_t longest_owner = 1024;

[[noreturn]] void refuse(errc code, const std::string& name, const std::string& sentence) {
    throw Error(code, (name.empty() ? std::string("a lock") : name) + ": " + sentence);
}

std::string in_words(std::chrono::milliseconds time) {
    using std::chrono::hours;
    if (time == time.zero()) return "0 s";
    if (time % hours{1} == time.zero()) return std::to_string(time / hours{1}) + " h";
    if (time % 1s == time.zero()) return std::to_string(time / 1s) + " s";
    return std::to_string(time.count()) + " ms";
}

void check_lease(const std::string& name, std::chrono::milliseconds lease,
                 const Capabilities& store) {
    const auto limit = std::min(longest_lease, store.longest_lease);
    if (lease >= shortest_lease && lease <= limit) return;
    const std::string why =
        store.longest_lease_is.empty() ? std::string() : ", " + std::string(store.longest_lease_is);
    refuse(errc::invalid_argument, name,
           "a lease of " + in_words(lease) + "; it must be from " + in_words(shortest_lease) +
               " to " + in_words(limit) + why);
}

void check_supported(const std::string& name, const Store& store, Form form,
                     const LockOptions& options) {
    const Capabilities can = store.capabilities();
    const std::string why = can.because.empty() ? "" : "; " + std::string(can.because);
    const auto cannot = [&](const std::string& what) {
        refuse(errc::not_supported, name, store.description() + " cannot do " + what + why);
    };
    if (form == Form::permits && !can.permits) cannot("permits");
    if (form == Form::read_write && !can.shared) cannot("readers beside each other");
    if (options.reenter && !can.reenter) cannot("re-entry across processes");
    if (options.fairness == Fairness::fifo && !can.fifo)
        cannot("fifo, it has no line; use barging");
    if (options.fairness == Fairness::barging && !can.barging) cannot("barging");
    if (options.fenced && !can.fences) cannot("fences");
    const bool barging = options.fairness.value_or(can.default_fairness) == Fairness::barging;
    if (barging && form != Form::mutex && !can.barging_shares) {
        cannot("barging for readers and permits; use fifo");
    }
}

Attempt attempt(Outcome outcome, const std::vector<std::string>& names) {
    if (outcome.end == End::failed) throw_failure(names[outcome.failed_at], *outcome.failure);
    if (outcome.end != End::admitted) return {};
    return HoldState::hold(std::move(outcome.hold));
}

[[noreturn]] void refuse_to_wait_on(const std::vector<std::string>& names) {
    refuse(errc::cancelled, names.front(), "the wait was cancelled");
}

/// In the order in which they are taken, each once.
std::vector<std::string> in_order(std::vector<std::string> names) {
    std::ranges::sort(names);
    const auto last = std::unique(names.begin(), names.end());
    names.erase(last, names.end());
    return names;
}

Request with(Request request, std::optional<std::chrono::nanoseconds> patience,
             std::stop_token stop) {
    request.patience = patience;
    request.stop = std::move(stop);
    return request;
}

}  // namespace

void check_name(const std::string& name) {
    if (name.empty()) refuse(errc::invalid_argument, name, "the name is empty; give it one");
    if (name.size() > longest_name) {
        refuse(errc::invalid_argument, name.substr(0, 32) + "...",
               "the name has " + std::to_string(name.size()) + " bytes; at most " +
                   std::to_string(longest_name) + " are allowed");
    }
}

Lock::Lock(std::shared_ptr<Context> context, std::vector<std::string> names, Form form,
           std::uint64_t capacity, LockOptions options)
    : context_(std::move(context)),
      names_(std::make_shared<const std::vector<std::string>>(in_order(std::move(names)))),
      form_(form),
      capacity_(capacity),
      options_(std::move(options)) {
    if (names_->empty()) refuse(errc::invalid_argument, "", "no name is given; give at least one");
    std::ranges::for_each(*names_, check_name);
    const std::string& name = names_->front();
    context_->refuse_inherited(name);
    const Capabilities store = context_->store().capabilities();
    lease_ = options_.lease.value_or(usual_lease(store.longest_lease));
    shared_lease_ =
        std::min(lease_, options_.lease.value_or(usual_lease(store.longest_shared_lease)));
    check_lease(name, lease_, store);
    if (capacity_ == 0 || capacity_ > all) {
        refuse(errc::invalid_argument, name,
               "a capacity of " + std::to_string(capacity_) + "; it must be from 1 to " +
                   std::to_string(all));
    }
    if (options_.owner.size() > longest_owner) {
        refuse(errc::invalid_argument, name,
               "the owner has " + std::to_string(options_.owner.size()) + " bytes; at most " +
                   std::to_string(longest_owner) + " are allowed");
    }
    check_supported(name, context_->store(), form_, options_);
    if (options_.owner.empty()) options_.owner = context_->owner();
}

Request Lock::request(std::uint64_t weight, Patience patience) const {
    context_->refuse_inherited(names_->front());
    check_weight(weight);
    Request request;
    const bool reads = form_ == Form::read_write && weight < capacity_;
    request.contenders.reserve(names_->size());
    for (const std::string& name : *names_) {
        request.contenders.push_back({.resource = context_->prefix() + name,
                                      .nonce = context_->next_nonce(),
                                      .owner = options_.owner,
                                      .weight = weight,
                                      .capacity = capacity_,
                                      .form = form_,
                                      .fairness = options_.fairness.value_or(
                                          context_->store().capabilities().default_fairness),
                                      .patience = patience,
                                      .lease = reads ? shared_lease_ : lease_,
                                      .reenter = options_.reenter,
                                      .host = context_->host(),
                                      .pid = context_->pid()});
    }
    return request;
}

void Lock::check_weight(std::uint64_t weight) const {
    if (weight >= 1 && weight <= capacity_) return;
    refuse(errc::invalid_argument, names_->front(),
           std::to_string(weight) + " permits asked for; it must be from 1 to " +
               std::to_string(capacity_));
}

void Lock::check_patience(std::chrono::nanoseconds patience) const {
    if (patience.count() >= 0) return;
    refuse(errc::invalid_argument, names_->front(),
           "a negative wait; use 0 to try once, or acquire() to wait without a limit");
}

Hold Lock::acquire(std::uint64_t weight, std::stop_token stop) const {
    Outcome outcome = core::acquire(
        context_, with(request(weight, Patience::wait), std::nullopt, std::move(stop)));
    if (outcome.end == End::stopped) refuse_to_wait_on(*names_);
    return *attempt(std::move(outcome), *names_);
}

Attempt Lock::try_acquire(std::uint64_t weight) const {
    return attempt(core::acquire(context_, request(weight, Patience::none)), *names_);
}

Attempt Lock::try_acquire_for(std::uint64_t weight, std::chrono::nanoseconds patience,
                              std::stop_token stop) const {
    check_patience(patience);
    const auto kind = patience.count() == 0 ? Patience::none : Patience::wait;
    auto asked = with(request(weight, kind), patience, std::move(stop));
    return attempt(core::acquire(context_, std::move(asked)), *names_);
}

void Lock::async_acquire(std::uint64_t weight, std::optional<std::chrono::nanoseconds> patience,
                         OnAcquired done, std::stop_token stop) const {
    if (patience) check_patience(*patience);
    const auto kind = patience == 0ns ? Patience::none : Patience::wait;
    const bool until_stopped = !patience;
    auto answer = [names = names_, until_stopped, done = std::move(done)](Outcome outcome) {
        std::exception_ptr failure;
        Attempt made;
        try {
            if (until_stopped && outcome.end == End::stopped) refuse_to_wait_on(*names);
            made = attempt(std::move(outcome), *names);
        } catch (const Error&) {
            failure = std::current_exception();
        }
        done(std::move(failure), std::move(made));
    };
    acquire_async(context_, with(request(weight, kind), patience, std::move(stop)),
                  std::move(answer));
}

void Lock::refuse_second_lock() const {
    refuse(errc::deadlock, names_->front(),
           "this thread has locked it already and would wait for itself; unlock it first, or use a "
           "RecursiveMutex for a lock that is taken again");
}

}  // namespace holdfast::inline v0::core
