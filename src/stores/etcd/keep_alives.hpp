#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include <holdfast/callback.hpp>

#include "port/failure.hpp"
#include "stores/etcd/stream.hpp"

namespace holdfast::inline v0::etcd {

/// The stream on which leases are kept alive: one for all of a client's. Answers come in order.
class KeepAlives final
    : public Streaming<messages::LeaseKeepAliveRequest, messages::LeaseKeepAliveResponse> {
public:
    struct Kept {
        std::chrono::seconds ttl;  ///< 0: the lease is over
        Moment sent;
        std::uint64_t term = 0;  ///< of whoever says so
    };
    using Answered = Callback<void(Result<Kept>)>;

    void add(std::int64_t lease, Moment deadline, Answered answered);

    /// Since when an answer is awaited.
    std::optional<Moment> waiting_since() const;
    std::optional<Moment> earliest_deadline() const;
    void expire(Moment now, const Failure& failure, Due& due);

    void received(const messages::LeaseKeepAliveResponse& message, Due& due) override;

private:
    struct Asked {
        std::int64_t lease;
        Moment deadline;
        Answered answered;  ///< empty: its time was up, and its answer is still to come
        Moment sent{};
    };
    void send(Asked& one);
    bool has_work() const override { return !asked_.empty(); }
    void ask_all() override {
        for (Asked& one : asked_) send(one);
    }
    void dropped() override {
        std::erase_if(asked_, [](const Asked& one) { return !one.answered; });
    }

    std::deque<Asked> asked_;  ///< in the order in which they were sent, or are to be
};

}  // namespace holdfast::inline v0::etcd
