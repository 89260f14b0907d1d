#include "core/context.hpp"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <holdfast/client.hpp>

#include "port/thread.hpp"

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;

namespace {

/// A random value, from the kernel at once: std::random_device asks the processor first what it can
/// do, which takes a virtual machine longer than opening a store.
template <class Value>
Value random() {
    Value value;
    if (getentropy(&value, sizeof value) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    return value;
}

std::string this_host() {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    return host;
}

std::string default_owner(const std::string& host, int pid) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string tag;
    for (auto bits = random<std::uint32_t>(), i = 0U; i < 8; ++i, bits >>= 4) {
        tag += digits[bits & 0xfU];
    }
    return host + ":" + std::to_string(pid) + ":" + tag;
}

/// How long one who can wait does so for what he has given back unwaited.
constexpr auto patience_for_departures = 1s;

/// How long the program's end waits for threads.
constexpr auto patience_at_exit = 500ms;

/// The clients there are, for the end of the program.
struct Registry {
    std::mutex mutex;
    std::vector<std::weak_ptr<Context>> contexts;
    std::set<std::string> urls;  ///< of clients there were, as far as they are remembered
    std::vector<std::shared_ptr<Context>> left;  ///< at the program's end
};

Registry& registry() {
    static PerProcess<Registry> instance;
    return instance.get();
}

/// Libraries are unloaded after this: no thread of ours may be inside one.
void end_all() {
    static std::atomic<bool> ended{false};
    if (ended.exchange(true)) return;
    // What is left may still be used by its owner, or by a thread that did not end: it stays.
    auto& alive = registry().left;
    {
        const std::lock_guard guard(registry().mutex);
        for (const auto& weak : registry().contexts) {
            if (auto context = weak.lock()) alive.push_back(std::move(context));
        }
    }
    // What was given back unwaited may still be on its way.
    const Moment until = BootClock::now() + patience_at_exit;
    for (const auto& context : alive) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
        context->await_clean_ups(std::max(left, 0ms));
        context->end();
    }
    await_threads(patience_at_exit);
}

void ended_at_exit(const std::shared_ptr<Context>& context) {
    const std::lock_guard guard(registry().mutex);
    // What is asked for last comes first. A client may have brought in a library, or used one for
    // the first time (OpenSSL): the threads must end before that does. Another one like it cannot.
    constexpr std::size_t most_urls = 256;
    auto& urls = registry().urls;
    if (urls.size() < most_urls && urls.insert(context->url()).second) std::atexit(end_all);
    std::erase_if(registry().contexts, [](const auto& weak) { return weak.expired(); });
    registry().contexts.push_back(context);
}

Released how_it_went(const Result<Standing>& answer) {
    if (!answer.ok()) return Released::unknown;
    return answer.value().state == Standing::State::admitted ? Released::in_time
                                                             : Released::too_late;
}

/// Several that leave together.
class Departures {
public:
    Departures(std::size_t count, Context::OnGone told) : left_(count), told_(std::move(told)) {}

    void one_is_gone(Released how) {
        std::unique_lock lock(mutex_);
        worst_ = std::max(worst_, how);
        if (--left_ > 0) return;
        lock.unlock();
        told_(worst_);
    }

private:
    std::mutex mutex_;
    std::size_t left_;
    Released worst_ = Released::in_time;
    const Context::OnGone told_;
};

}  // namespace

std::shared_ptr<Context> Context::make(Parts parts) {
    std::shared_ptr<Context> inner(new Context(std::move(parts)));
    inner->keeper_ = std::make_shared<Keeper>(
        inner->store(), inner->clock(), inner->renewing(), inner->telling(),
        [weak = std::weak_ptr(inner)](const Failure& failure) {
            if (const auto self = weak.lock()) self->report(failure);
        });
    inner->keeper_->belong_to(inner);
    inner->keeper_->when_answered_again([weak = std::weak_ptr(inner)] {
        if (const auto self = weak.lock()) self->report_answer();
    });
    ended_at_exit(inner);
    Context* const made = inner.get();
    // Threads of ours hold on to the inner one while they work with it. The users' goes first, and
    // ends them, so that none of them is left to end the others, or to run on after main().
    return {made, [inner = std::move(inner)](Context* context) mutable {
                // In a forked child everything is leaked: ending a session there would end the
                // parent's.
                if (context->inherited()) {
                    new std::shared_ptr<Context>(std::move(inner));
                } else {
                    close(inner);
                    inner.reset();
                }
            }};
}

Client Context::client(std::shared_ptr<Context> context) {
    return Client(std::move(context));
}

const std::shared_ptr<Context>& Context::of(const Client& client) noexcept {
    return client.context_;
}

Context::Context(Parts parts)
    : parts_(std::move(parts)), host_(this_host()), pid_(getpid()), nonce_base_(random<Nonce>()) {
    if (parts_.options.owner.empty()) parts_.options.owner = default_owner(host_, pid_);
}

Context::~Context() {
    // The threads end before what they use.
    parts_.renewing.reset();
    parts_.telling.reset();
}

void Context::end() noexcept {
    if (inherited()) return;
    keeper_->close();
    renewing().end();
    telling().end();
    store().wire().end();
}

/// A leave that is on its way is worth a moment: its place would stand idle for a lease. A thread
/// of ours may be the one that is to send it, and leaves the waiting to another.
void Context::close(const std::shared_ptr<Context>& context) noexcept {
    const auto say_goodbye = [](Context& one) {
        one.await_clean_ups(one.parts_.goodbye);
        one.end();
    };
    if (!must_not_wait()) return say_goodbye(*context);
    if (context->await_clean_ups({})) return context->end();
    try {
        start_thread("hf-goodbye", [context, say_goodbye] { say_goodbye(*context); }).detach();
    } catch (const std::exception&) {
        context->end();
    }
}

bool Context::await_clean_ups(std::chrono::milliseconds at_most) {
    std::unique_lock lock(clean_ups_mutex_);
    return no_clean_ups_.wait_for(lock, at_most, [this] { return clean_ups_ == 0; });
}

void Context::make_ready() {
    if (ready_.load(std::memory_order_acquire)) return;
    renewing().make_ready();
    telling().make_ready();
    store().wire().make_ready();
    ready_.store(true, std::memory_order_release);
}

std::string_view Context::name_of(std::string_view resource) const {
    return resource.substr(std::min(resource.size(), parts_.prefix.size()));
}

/// Random for the client, counted within it.
Nonce Context::next_nonce() noexcept {
    Nonce nonce = nonce_base_;
    std::uint64_t counter = 0;
    std::memcpy(&counter, nonce.bytes.data() + 8, sizeof counter);
    counter += nonces_.fetch_add(1, std::memory_order_relaxed);
    std::memcpy(nonce.bytes.data() + 8, &counter, sizeof counter);
    return nonce;
}

void Context::refuse_inherited(std::string_view name) const {
    if (!inherited()) return;
    throw Error(errc::inherited, std::string(name) +
                                     ": this client was made before fork() and belongs to the "
                                     "parent; connect() again in the child");
}

namespace {

/// Whoever waits does the store's work meanwhile, and may throw what is another's.
Result<Standing> answer_by(Moment until, Pending<Standing> pending) {
    try {
        return std::move(pending).get(until);
    } catch (const std::exception&) {
        return Failure{};
    }
}

}  // namespace

Released Context::give_back(std::span<const Ticket> tickets, std::chrono::milliseconds lease,
                            Moment until) {
    std::vector<Pending<Standing>> answers;
    answers.reserve(tickets.size());
    // A store that works on the caller's own thread has failed by now when it does not answer: once
    // is enough.
    bool silent = must_not_wait();
    for (const Ticket& ticket : tickets) {
        if (silent) break;
        answers.push_back(store().leave(ticket));
        silent = answers.back().failed();
    }
    auto how = Released::in_time;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        const auto answer = i < answers.size() ? answer_by(until, std::move(answers[i]))
                                               : Result<Standing>(Failure{});
        if (!answer.ok()) take_out(tickets[i], lease);
        how = std::max(how, how_it_went(answer));
    }
    return how;
}

/// A contender that is taken out in the background.
struct Context::CleanUp {
    CleanUp(Context& in, Ticket whom, Moment until, OnGone on_gone)
        : context(in.weak_from_this()),
          ticket(std::move(whom)),
          give_up(until),
          told(std::move(on_gone)) {
        const std::lock_guard guard(in.clean_ups_mutex_);
        ++in.clean_ups_;
    }
    ~CleanUp() {
        const auto alive = context.lock();
        if (!alive) return;
        const std::lock_guard guard(alive->clean_ups_mutex_);
        if (--alive->clean_ups_ == 0) alive->no_clean_ups_.notify_all();
    }
    CleanUp(const CleanUp&) = delete;
    CleanUp& operator=(const CleanUp&) = delete;

    void tell(Released how) {
        if (const auto whom = std::exchange(told, {})) whom(how);
    }

    std::weak_ptr<Context> context;
    Ticket ticket;
    Moment give_up;
    OnGone told;
    std::chrono::nanoseconds backoff = 20ms;
};

void Context::take_out(const Ticket& ticket, std::chrono::milliseconds lease, OnGone told) {
    // Past this the lease itself has ended, and a request cannot be that late.
    const Moment give_up = clock().now() + 2 * lease + 10s;
    const auto clean_up = std::make_shared<CleanUp>(*this, ticket, give_up, std::move(told));
    if (!store().may_block()) return try_take_out(clean_up);
    // Whoever asks for it does not wait, whatever the store does.
    renewing().post([clean_up] {
        if (const auto self = clean_up->context.lock()) self->try_take_out(clean_up);
    });
}

void Context::try_take_out(const std::shared_ptr<CleanUp>& clean_up) {
    store().leave(clean_up->ticket).then([clean_up](const Result<Standing>& result) {
        clean_up->tell(how_it_went(result));
        const auto self = clean_up->context.lock();
        if (!self || result.ok()) return;
        self->report(result.failure());
        const Moment next = self->clock().now() + clean_up->backoff;
        if (next > clean_up->give_up) return;
        clean_up->backoff = std::min<std::chrono::nanoseconds>(2 * clean_up->backoff, 1s);
        self->renewing().at(next, [clean_up] {
            if (const auto context = clean_up->context.lock()) context->try_take_out(clean_up);
        });
    });
}

void Context::send_off(std::span<const Ticket> tickets, std::chrono::milliseconds lease,
                       OnGone told) {
    if (tickets.size() == 1 || !told) {
        for (const Ticket& ticket : tickets) {
            take_out(ticket, lease, told_in_order(ticket, std::exchange(told, {})));
        }
        return;
    }
    const auto together = std::make_shared<Departures>(tickets.size(), std::move(told));
    for (const Ticket& ticket : tickets) {
        const auto one_is_gone = [together](Released how) { together->one_is_gone(how); };
        take_out(ticket, lease, told_in_order(ticket, one_is_gone));
    }
}

/// That a resource is being given back. It ends with this, also when it could not be sent.
class Context::Leaving {
public:
    Leaving(std::weak_ptr<Context> context, std::string resource)
        : context_(std::move(context)), resource_(std::move(resource)) {
        if (const auto context_now = context_.lock()) {
            number_ = context_now->departing_.begins(resource_);
        }
    }
    ~Leaving() {
        if (const auto context_now = context_.lock()) {
            context_now->departing_.is_over(resource_, number_);
        }
    }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

private:
    const std::weak_ptr<Context> context_;
    const std::string resource_;
    std::uint64_t number_ = 0;
};

Context::OnGone Context::told_in_order(const Ticket& ticket, OnGone told) {
    if (store().in_order()) return told;
    return [told = std::move(told),
            leaving = std::make_shared<Leaving>(weak_from_this(), ticket.resource)](Released how) {
        if (told) told(how);
    };
}

void Context::after_departures(std::span<const Contender> contenders, Callback<void()> go) {
    departing_.after(contenders, std::move(go));
}

void Context::await_departures(std::span<const Contender> contenders,
                               std::optional<std::chrono::nanoseconds> left,
                               const std::stop_token& stop) {
    const auto at_most = std::chrono::nanoseconds{patience_for_departures};
    departing_.await(contenders, store().wire(), std::min(at_most, left.value_or(at_most)), stop);
}

void Context::report(const Failure& failure) {
    if (observer() == nullptr) return;
    telling().post([observer = parts_.options.observer, sentence = failure.sentence] {
        observer->store_failed(sentence);
    });
}

void Context::report_answer() {
    if (observer() == nullptr) return;
    telling().post([observer = parts_.options.observer] { observer->store_answers(); });
}

bool must_not_wait() noexcept {
    return inside_callback() || on_thread_of_ours();
}

void throw_failure(std::string_view name, const Failure& failure) {
    throw Error(failure.code, std::string(name) + ": " + failure.sentence, failure.effect);
}

}  // namespace holdfast::inline v0::core
