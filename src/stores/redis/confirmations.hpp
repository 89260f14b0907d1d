#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "port/clock.hpp"
#include "port/failure.hpp"
#include "stores/net/errand.hpp"
#include "stores/net/outbox.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::inline v0::redis {

/// What a master has answered and its replicas have not confirmed, so that nobody is told yet. One
/// round at a time confirms all that was answered before it began, for the replicas follow in the
/// master's order; what is answered meanwhile waits for the next. No I/O, and time is an input.
class Confirmations {
public:
    void add(std::unique_ptr<Request>&& request, Reply reply);
    bool empty() const noexcept { return pending_.empty(); }
    std::size_t size() const noexcept { return pending_.size(); }
    /// The one that has waited longest, of which there is one.
    const Request& first() const { return *pending_.front().request; }

    bool is_round_under_way() const noexcept { return is_under_way_; }
    void begin_round();
    /// Enough replicas have what the round was about: whoever asked is told.
    void confirmed(net::Due& due);
    /// Too few have it: another round may find more.
    void not_confirmed() noexcept;

    /// Those whose time is up end by `why`. They may have been carried out.
    void expire(Moment now, const Failure& why, net::Due& due);
    /// When the first of them is; never: Moment::max().
    Moment earliest_deadline() const;
    /// Who answered is not heard any more. What was asked waits there to be asked again.
    void give_back(net::Outbox<Request>& outbox);

private:
    struct Answered {
        std::unique_ptr<Request> request;
        Reply reply;
    };

    std::deque<Answered> pending_;  ///< in the order in which they were answered
    std::size_t in_round_ = 0;      ///< so many of the first
    bool is_under_way_ = false;
};

}  // namespace holdfast::inline v0::redis
