#include "stores/etcd/keeping.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::inline v0::etcd {

void Proof::add(Moment sent, std::uint64_t term) {
    of_one_term_ = of_one_term_ && term_.value_or(term) == term;
    term_ = term;
    since_ = std::min(since_, sent);
}

std::optional<Moment> Proof::since() const {
    if (!of_one_term_ || !term_) return std::nullopt;
    return since_;
}

Failure unproved(const Cluster& cluster) {
    return {errc::unreachable, Effect::none,
            cluster.shown() +
                ": its members change their leader again and again; check that they reach each "
                "other"};
}

namespace {

class Keeping : public std::enable_shared_from_this<Keeping> {
public:
    using Done = Callback<void(Common&, Result<bool>)>;

    Keeping(std::int64_t lease, std::string key, Moment deadline, Done done)
        : lease_(lease), key_(std::move(key)), deadline_(deadline), done_(std::move(done)) {}

    void ask(Common& common) {
        proof_ = {};
        awaited_ = 2;
        common.keep_alive(lease_, [self = shared_from_this()](
                                      Common& alive, const Result<std::optional<Kept>>& kept) {
            self->was_kept(kept);
            self->one_answered(alive);
        });
        messages::RangeRequest request;
        request.set_key(key_);
        request.set_keys_only(true);
        common.submit(std::move(request),
                      [self = shared_from_this()](Common& alive, const auto& answer) {
                          self->was_read(answer);
                          self->one_answered(alive);
                      },
                      {.deadline = deadline_});
    }

private:
    using Kept = KeepAlives::Kept;
    using Read = EtcdWire::AnswerTo<messages::RangeRequest>;

    void was_kept(const Result<std::optional<Kept>>& kept) {
        if (!kept.ok()) {
            failure_ = kept.failure();
        } else if (!kept.value()) {
            over_ = true;
        } else {
            proof_.add(kept.value()->sent, kept.value()->term);
        }
    }

    void was_read(const Read& answer) {
        if (!answer.result.ok()) {
            failure_ = answer.result.failure();
        } else {
            proof_.add(answer.sent, answer.result.value().header().raft_term());
        }
    }

    void one_answered(Common& common) {
        if (--awaited_ > 0) return;
        if (over_) return done_(common, false);
        if (failure_) return done_(common, *failure_);
        if (const auto since = proof_.since()) {
            common.leases.heard(lease_, *since);
            return done_(common, true);
        }
        if (BootClock::now() < deadline_) return ask(common);
        done_(common, unproved(common.cluster()));
    }

    const std::int64_t lease_;
    const std::string key_;
    const Moment deadline_;
    const Done done_;
    Proof proof_;
    int awaited_ = 0;
    bool over_ = false;
    std::optional<Failure> failure_;
};

}  // namespace

void keep_lease(Common& common, std::int64_t lease, const std::string& key,
                Callback<void(Common&, Result<bool>)> done) {
    const Moment deadline = BootClock::now() + common.cluster().request_timeout;
    std::make_shared<Keeping>(lease, key, deadline, std::move(done))->ask(common);
}

}  // namespace holdfast::inline v0::etcd
