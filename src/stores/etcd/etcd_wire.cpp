#include "stores/etcd/etcd_wire.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::etcd {

namespace {

/// How far away it is: no clock that can be set has a say.
gpr_timespec in_grpc_time(std::optional<Moment> until) {
    if (!until) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    const auto left = std::max(*until - BootClock::now(), std::chrono::nanoseconds{0});
    return gpr_time_from_nanos(left.count(), GPR_TIMESPAN);
}

}  // namespace

EtcdWire::EtcdWire(Cluster cluster) : cluster_(std::move(cluster)), members_(cluster_) {}

EtcdWire::~EtcdWire() {
    close();
    Due due;
    {
        const Lock lock(mutex_);
        closed_ = true;
        keep_alives_.drop_stream();
        watches_.drop_stream();
        for (const auto& call : under_way_) call->cancel();
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
        const Lock lock(mutex_);
        static_cast<Arrival*>(tag)->arrived(ok, due);
    }
}

void EtcdWire::listen(const std::weak_ptr<Watches::Listener>& listener) {
    const Lock lock(mutex_);
    watches_.listen(listener);
}

void EtcdWire::interrupt() noexcept {
    if (interrupting_.exchange(true)) return;
    alarm_.Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC), static_cast<Arrival*>(&interrupt_));
}

void EtcdWire::turn(std::optional<Moment> until, Due& due) {
    {
        std::vector<std::shared_ptr<UnaryCall>> spent;
        const Lock lock(mutex_);
        serve(BootClock::now(), due);
        if (!due.empty()) return;
        until = earliest(until);
        asleep_until_ = until.value_or(Moment::max());
        spent.swap(spent_);
    }
    void* tag = nullptr;
    bool ok = false;
    const auto woken = queue_.AsyncNext(&tag, &ok, in_grpc_time(until));
    const Lock lock(mutex_);
    asleep_until_.reset();
    if (woken != grpc::CompletionQueue::GOT_EVENT) return;
    static_cast<Arrival*>(tag)->arrived(ok, due);
}

/// Whether whoever leads is asleep for longer, and is to be woken: at that moment something will be
/// due. From then on it is awake by then, whatever is answered before: so that not each request has
/// to wake it.
bool EtcdWire::oversleeps(Moment moment) {
    if (!asleep_until_ || *asleep_until_ <= moment) return false;
    wake_by_ = moment;
    return true;
}

/// When the next thing is due by itself.
std::optional<Moment> EtcdWire::earliest(std::optional<Moment> until) const {
    Moment first = until.value_or(Moment::max());
    const auto also = [&](std::optional<Moment> moment) {
        if (moment) first = std::min(first, *moment);
    };
    also(wake_by_);
    for (const auto& call : under_way_) {
        if (call->torn) return Moment{};
        if (!call->cancelled) also(std::min(call->deadline, call->sent + patience()));
    }
    for (const auto& call : outbox_) {
        also(call->deadline);
        // Else the user is to be proved first.
        if (may_send(*call) || !authenticating_) also(members_.next());
    }
    also(keep_alives_.earliest_deadline());
    for (const auto since : {keep_alives_.waiting_since(), watches_.waiting_since()}) {
        if (since) also(*since + patience());
    }
    const auto also_stream = [&](const auto& streamed) {
        if (!streamed.wants_stream() || authenticating_) return;
        also(std::max(members_.next(), streamed.next()));
    };
    also_stream(keep_alives_);
    also_stream(watches_);
    if (first == Moment::max()) return std::nullopt;
    return first;
}

void EtcdWire::serve(Moment now, Due& due) {
    if (wake_by_ && now >= *wake_by_) wake_by_.reset();
    give_up_torn(due);
    expire(now, due);
    renew_streams(now);
    if (!outbox_.empty() && now >= members_.next()) send_outbox(now);
}

/// Some of the outbox. Those that are left when something throws go back.
class EtcdWire::Taken {
public:
    using Calls = std::list<std::shared_ptr<UnaryCall>>;
    template <class Concerned>
    Taken(Calls& outbox, Concerned concerned) : outbox_(outbox) {
        for (auto place = outbox.begin(); place != outbox.end();) {
            const auto call = place++;
            if (concerned(**call)) calls_.splice(calls_.end(), outbox, call);
        }
    }
    ~Taken() { outbox_.splice(outbox_.begin(), calls_); }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    template <class Take>
    void each(Take take) {
        for (; !calls_.empty(); calls_.pop_front()) take(calls_.front());
    }

private:
    Calls& outbox_;
    Calls calls_;
};

template <class Concerned>
EtcdWire::Taken EtcdWire::take_from_outbox(Concerned concerned) {
    return Taken(outbox_, concerned);
}

void EtcdWire::send_outbox(Moment now) {
    take_from_outbox([this](const UnaryCall& call) {
        return may_send(call);
    }).each([&](const auto& call) { send(call, now); });
    if (!outbox_.empty()) authenticate(now);
}

/// What is not answered in time is asked of another member, or given up.
void EtcdWire::expire(Moment now, Due& due) {
    for (const auto& call : under_way_) {
        if (call->cancelled) continue;
        if (call->is_overdue(now) || is_silent(*call, now)) call->cancel();
    }
    take_from_outbox([now](const UnaryCall& call) {
        return call.is_overdue(now);
    }).each([&](const auto& call) { give_up(call, due); });
    const auto next = keep_alives_.earliest_deadline();
    if (next && now >= *next) keep_alives_.expire(now, out_of_time(), due);
}

/// Both streams are with the member that is asked; what it does not answer there counts as well.
void EtcdWire::renew_streams(Moment now) {
    const auto tend = [&](auto& streamed, const char* method) {
        using OneStream = typename std::remove_reference_t<decltype(streamed)>::OneStream;
        const auto route = streamed.route();
        const auto since = streamed.waiting_since();
        if (route && since && now >= *since + patience()) members_.silent(*route, now);
        if (const auto broken = streamed.take_break()) {
            const bool token_over = refusal_of(broken->status) == CallRefusal::token_over;
            if (token_over) known_ = false;
            token_over ? streamed.refused(now) : members_.failed(broken->route, now);
        }
        if (route && *route != members_.route()) streamed.drop_stream();
        if (!streamed.wants_stream()) return;
        if (now < std::max(members_.next(), streamed.next())) return;
        if (!may_send()) return authenticate(now);
        const auto stream = std::make_shared<OneStream>(streamed, members_.route());
        require_leader(stream->context());
        identify(stream->context());
        stream->open(members_.channel(), method, queue_);
        streamed.use(stream);
    };
    tend(keep_alives_, "/etcdserverpb.Lease/LeaseKeepAlive");
    tend(watches_, "/etcdserverpb.Watch/Watch");
}

void EtcdWire::start(const std::shared_ptr<UnaryCall>& call) {
    const Lock lock(mutex_);
    if (closed_) return;
    const Moment now = BootClock::now();
    const bool goes_now = may_send(*call) && now >= members_.next();
    if (!goes_now || oversleeps(std::min(call->deadline, now + patience()))) interrupt();
    goes_now ? send(call, now) : outbox_.push_back(call);
}

void EtcdWire::send(const std::shared_ptr<UnaryCall>& call, Moment now) {
    call->context.emplace();
    if (!members_.has_leader(now)) require_leader(*call->context);
    identify(*call->context);
    call->status = {};
    call->route = members_.route();
    call->member = members_.current();
    call->goes_out(now);
    call->cancelled = false;
    under_way_.insert(call);
    call->torn = true;
    call->send(members_.channel(), queue_);
    call->torn = false;
}

/// A member without a leader says so at once, and ends its streams.
void EtcdWire::require_leader(grpc::ClientContext& context) {
    context.AddMetadata("hasleader", "true");
}

void EtcdWire::identify(grpc::ClientContext& context) const {
    if (!token_.empty()) context.AddMetadata("token", token_);
}

/// It stays among those that are under way until it is somewhere else.
void EtcdWire::attempted(const std::shared_ptr<UnaryCall>& call, Due& due) {
    if (closed_) {
        under_way_.erase(call);
        return;
    }
    call->torn = true;
    judge(call, due);
    call->torn = false;
}

void EtcdWire::give_up_torn(Due& due) {
    for (auto place = under_way_.begin(); place != under_way_.end();) {
        const auto call = *place++;
        if (!call->torn) continue;
        // It may have been on its way out of there.
        outbox_.remove(call);
        call->lost();
        give_up(call, due);
    }
}

void EtcdWire::judge(const std::shared_ptr<UnaryCall>& call, Due& due) {
    const Moment now = BootClock::now();
    const CallRefusal refusal = refusal_of(call->status);
    if (refusal == CallRefusal::unserved) return unserved(call, now, due);
    members_.answered();
    if (refusal == CallRefusal::none) {
        members_.served(call->route, call->sent);
        return finish(call, std::nullopt, due);
    }
    if (refusal == CallRefusal::token_over && !cluster_.user.name.empty() && !call->proved_again) {
        call->proved_again = true;
        call->trouble = failure_of(call->status, cluster_);
        known_ = false;
        return send_later(call);
    }
    finish(call, call->refused(failure_of(call->status, cluster_)), due);
}

void EtcdWire::unserved(const std::shared_ptr<UnaryCall>& call, Moment now, Due& due) {
    if (!is_unsent(call->status)) call->lost();
    if (!call->cancelled) {
        call->trouble = failure_of(call->status, cluster_);
        members_.failed(call->route, now);
    }
    // One whose own time was short says nothing about whoever was asked.
    if (call->cancelled && is_silent(*call, now)) members_.silent(call->route, now);
    // Each for itself: one may be asked several times in a row, by calls that fail together.
    if (is_hopeless(call->status)) {
        call->in_vain.insert(call->member);
    } else {
        call->in_vain.erase(call->member);
    }
    const bool in_vain = call->in_vain.size() >= cluster_.servers.size();
    if (call->is_overdue(now) || in_vain) return give_up(call, due);
    may_send(*call) && now >= members_.next() ? send(call, now) : send_later(call);
}

void EtcdWire::send_later(const std::shared_ptr<UnaryCall>& call) {
    outbox_.push_back(call);
    under_way_.erase(call);
}

/// Because of what the last attempt met; when there was none, or nobody answered, for its time.
void EtcdWire::give_up(const std::shared_ptr<UnaryCall>& call, Due& due) {
    finish(call, call->given_up(call->trouble ? *call->trouble : out_of_time()), due);
}

void EtcdWire::finish(const std::shared_ptr<UnaryCall>& call, std::optional<Failure> failure,
                      Due& due) {
    // What needs memory comes first.
    net::make_room(due, 1);
    net::make_room(spent_, 1);
    call->finish(std::move(failure), due);
    spent_.push_back(call);
    under_way_.erase(call);
}

/// Its answer is the wire's own: taken at once, for the wire may be gone when callbacks are called.
class EtcdWire::UserProof final : public UnaryCallOf<messages::AuthenticateRequest> {
public:
    UserProof(EtcdWire& wire, Moment until, messages::AuthenticateRequest request)
        : UnaryCallOf(wire, until, std::move(request), [](const auto&) {}), wire_(wire) {}

    void finish(std::optional<Failure> failure, Due& due) override {
        wire_.authenticated(answer_or(std::move(failure)), due);
    }

private:
    EtcdWire& wire_;
};

void EtcdWire::authenticate(Moment now) {
    if (authenticating_) return;
    token_.clear();
    messages::AuthenticateRequest request;
    request.set_name(cluster_.user.name);
    request.set_password(cluster_.user.password);
    send(std::make_shared<UserProof>(*this, now + cluster_.request_timeout, std::move(request)),
         now);
    authenticating_ = true;
}

void EtcdWire::authenticated(const AnswerTo<messages::AuthenticateRequest>& answer, Due& due) {
    authenticating_ = false;
    known_ = answer.result.ok() || answer.refusal == CallRefusal::no_authority;
    if (answer.result.ok()) token_ = answer.result.value().token();
    if (known_) return;
    // A password that is no longer right is not asked for again at once: each time costs the server
    // a hash.
    const Moment now = BootClock::now();
    keep_alives_.refused(now);
    watches_.refused(now);
    take_from_outbox([](const UnaryCall&) { return true; }).each([&](const auto& call) {
        call->trouble = answer.result.failure();
        give_up(call, due);
    });
}

void EtcdWire::keep_alive(std::int64_t lease, KeepAlives::Answered answered) {
    const Lock lock(mutex_);
    if (closed_) return;
    keep_alives_.add(lease, default_deadline(), std::move(answered));
    if (keep_alives_.wants_stream() || oversleeps(BootClock::now() + patience())) interrupt();
}

void EtcdWire::watch(const std::string& key, Watches::Events events, std::int64_t since) {
    const Lock lock(mutex_);
    if (closed_) return;
    watches_.add(key, events, since);
    if (watches_.wants_stream() || oversleeps(BootClock::now() + patience())) interrupt();
}

void EtcdWire::unwatch(const std::string& key) {
    const Lock lock(mutex_);
    if (!closed_) watches_.remove(key);
}

}  // namespace holdfast::inline v0::etcd
