#include "stores/redis/confirmations.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::inline v0::redis {

void Confirmations::add(std::unique_ptr<Request>&& request, Reply reply) {
    Answered& one = pending_.emplace_back();
    one.request = std::move(request);
    one.reply = std::move(reply);
}

void Confirmations::begin_round() {
    in_round_ = pending_.size();
    is_under_way_ = true;
}

void Confirmations::confirmed(net::Due& due) {
    for (; in_round_ > 0; --in_round_) {
        auto& [request, reply] = pending_.front();
        net::finish(std::move(request), std::move(reply), due);
        pending_.pop_front();
    }
    is_under_way_ = false;
}

void Confirmations::not_confirmed() noexcept {
    in_round_ = 0;
    is_under_way_ = false;
}

void Confirmations::expire(Moment now, const Failure& why, net::Due& due) {
    for (std::size_t i = 0; i < pending_.size();) {
        if (!pending_[i].request->is_overdue(now)) {
            ++i;
            continue;
        }
        net::finish(std::move(pending_[i].request), why, due);
        pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
        if (i < in_round_) --in_round_;
    }
}

Moment Confirmations::earliest_deadline() const {
    Moment first = Moment::max();
    for (const Answered& one : pending_) first = std::min(first, one.request->deadline);
    return first;
}

void Confirmations::give_back(net::Outbox<Request>& outbox) {
    not_confirmed();
    for (; !pending_.empty(); pending_.pop_back()) {
        auto& request = pending_.back().request;
        // It was carried out by a server that may have forgotten it since.
        request->lost();
        outbox.send_again(std::move(request));
    }
}

}  // namespace holdfast::inline v0::redis
