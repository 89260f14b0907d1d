#include "core/context.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <holdfast/client.hpp>

namespace holdfast::inline v0::core {

using namespace std::chrono_literals;

namespace {

/// From the kernel at once: std::random_device asks the processor first what it can do, which takes
/// a virtual machine longer than opening a store.
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

}  // namespace

std::shared_ptr<Context> Context::make(Parts parts) {
    // In a forked child everything is leaked: ending a session there would end the parent's.
    std::shared_ptr<Context> context(new Context(std::move(parts)), [](Context* made) {
        if (!made->inherited()) delete made;
    });
    context->keeper_ = std::make_shared<Keeper>(
        context->store(), context->clock(), context->renewing(), context->telling(),
        [weak = std::weak_ptr(context)](const Failure& failure) {
            if (const auto self = weak.lock()) self->report(failure);
        });
    context->keeper_->belong_to(context);
    return context;
}

Client Context::client(std::shared_ptr<Context> context) {
    return Client(std::move(context));
}

Context::Context(Parts parts)
    : parts_(std::move(parts)), host_(this_host()), pid_(getpid()), nonce_base_(random<Nonce>()) {
    if (parts_.options.owner.empty()) parts_.options.owner = default_owner(host_, pid_);
}

Context::~Context() {
    keeper_->close();
    // The threads end before what they use.
    parts_.renewing.reset();
    parts_.telling.reset();
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

void Context::take_out(const Ticket& ticket, std::chrono::milliseconds lease) {
    // Past this the lease itself has ended, and a request cannot be that late.
    const Moment give_up = clock().now() + 2 * lease + 10s;
    try_take_out(ticket, give_up, 20ms);
}

void Context::try_take_out(const Ticket& ticket, Moment give_up, std::chrono::nanoseconds backoff) {
    store().leave(ticket).then(
        [self = shared_from_this(), ticket, give_up, backoff](const Result<Standing>& result) {
            if (result.ok()) return;
            self->report(result.failure());
            const Moment next = self->clock().now() + backoff;
            if (next > give_up) return;
            self->renewing().at(next, [self, ticket, give_up, backoff] {
                self->try_take_out(ticket, give_up,
                                   std::min<std::chrono::nanoseconds>(2 * backoff, 1s));
            });
        });
}

void Context::report(const Failure& failure) {
    if (observer() == nullptr) return;
    telling().post([observer = parts_.options.observer, sentence = failure.sentence] {
        observer->store_failed(sentence);
    });
}

void throw_failure(std::string_view name, const Failure& failure) {
    throw Error(failure.code, std::string(name) + ": " + failure.sentence, failure.effect);
}

}  // namespace holdfast::inline v0::core
